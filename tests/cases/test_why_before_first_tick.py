"""A record that completes a window has been read: its watermark comes with the next periodic call (rules 8.1, 8.2)."""

from __future__ import annotations

from pathlib import Path

import pytest

import flowsim
from flowsim.why.questions import Asked, answer
from flowsim.why.run_facts import RunFacts

SCENARIO = Path(__file__).parent / "inputs" / "why_before_first_tick.yaml"


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> RunFacts:
    out = tmp_path_factory.mktemp("tick")
    flowsim.run_scenario(SCENARIO, out=out)
    return RunFacts(flowsim.open_recording(out))


@pytest.mark.parametrize("at_ms", [130, 150, 199])
def test_record_that_was_read_waits_for_the_periodic_call(facts: RunFacts, at_ms: int) -> None:
    found = answer(facts.until(facts.start_ns + at_ms * 10**6), "no-output", Asked(("[0, 10000)",)))
    texts = [cause.text for cause in found.causes]

    assert not any("for ever" in text for text in texts)
    assert (
        "To generate watermark 9,999 ms, Source: rows (1/1) needs a record of timestamp 10,000 ms or later. One of timestamp "
        "12,000 ms came at 20.001 ms; it emits watermarks at its periodic calls, every 200 ms. The recording shows the first "
        "such watermark, 11,999 ms, at 200 ms."
    ) in texts
