"""The countdown of an idle timeout starts at the first quiet periodic call and must be exceeded (rule 8.4)."""

from __future__ import annotations

from pathlib import Path

import pytest

import flowsim
from flowsim.why.questions import Asked, answer
from flowsim.why.run_facts import RunFacts

SCENARIO = Path(__file__).parent / "inputs" / "flink_40503.yaml"
WINDOW = "[0, 10000)"


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> RunFacts:
    out = tmp_path_factory.mktemp("idle")
    flowsim.run_scenario(SCENARIO, out=out)
    return RunFacts(flowsim.open_recording(out))


@pytest.mark.parametrize(("at_s", "ago"), [(15, "11"), (20, "16"), (24, "20")])
def test_countdown_names_the_call_that_declares_idleness(facts: RunFacts, at_s: int, ago: str) -> None:
    found = answer(facts.until(facts.start_ns + at_s * 10**9), "no-output", Asked((WINDOW,)))
    (idleness,) = [cause for cause in found.causes if "is not idle" in cause.text]

    assert idleness.text.startswith(
        f"Source: stops is not idle: its idle timeout is 10 s, and its last record came {ago}"
    )
    assert "The countdown starts at the first periodic call without a new record" in idleness.text
    assert "more than 10 s after it, and calls come every 5 s" in idleness.text
    assert idleness.text.endswith("it becomes idle at 25 s.")
    assert "output" not in idleness.text
    assert "8.4" in idleness.rules


def test_window_has_fired_after_the_idleness(facts: RunFacts) -> None:
    found = answer(facts.until(facts.start_ns + 26 * 10**9), "no-output", Asked((WINDOW,)))

    assert "has fired" in found.statement.text
