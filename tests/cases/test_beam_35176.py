"""An event-time timer that is deleted before the first watermark never fires, and `why no-output` of its key says so."""

from __future__ import annotations

from pathlib import Path

import pytest

import flowsim
from flowsim.facts.kinds import TimerAction
from flowsim.why.answer import WhyAnswer
from flowsim.why.questions import Asked, answer
from flowsim.why.run_facts import RunFacts
from tests.unit.why.conftest import text_of

SCENARIO = Path(__file__).parent / "inputs" / "beam_35176.yaml"


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> RunFacts:
    out = tmp_path_factory.mktemp("cancelled")
    flowsim.run_scenario(SCENARIO, out=out)
    return RunFacts(flowsim.open_recording(out))


def ask(facts: RunFacts, *about: str, at_ms: float | None = None) -> WhyAnswer:
    if at_ms is not None:
        facts = facts.until(facts.start_ns + round(at_ms * 1_000_000))
    return answer(facts, "no-output", Asked(about))


@pytest.mark.parametrize("about", [("out", "k1"), ("k1",), ("alarms", "k1")])
def test_deletion_before_the_first_watermark_is_the_reason(facts: RunFacts, about: tuple[str, ...]) -> None:
    found = ask(facts, *about)
    deletion = next(row for row in facts.rows("timers", 1) if row["action"] == TimerAction.DELETE)

    assert found.statement.text == (
        'Event-time timer 1 ms of key "k1" at alarms (1/1) was deleted at 20.002 ms, before the first watermark: it '
        "did not fire."
    )
    assert found.statement.place is not None
    assert found.statement.place.seq == deletion["seq"]
    assert [cause.text for cause in found.causes] == [
        'Record ["k1","set",0] (timestamp 0 ms) registered it at 10.002 ms, before the first watermark.',
        'Record ["k1","clear",3] (timestamp 3 ms) deleted it at 20.002 ms.',
        (
            "An event-time timer fires when the watermark reaches its time, 1 ms, not when a record does. The first such "
            "watermark, 2 ms, came to alarms (1/1) 180 ms later, at 200 ms."
        ),
    ]


def test_timer_that_was_not_deleted_fired_with_the_watermark(facts: RunFacts) -> None:
    text = text_of(ask(facts, "out", "k3"))

    assert text.startswith('Event-time timer 1 ms of key "k3" at alarms (1/1) fired at 200 ms, at watermark 2 ms.')
    assert "alarms (1/1) got watermark 2 ms at 200 ms" in text


def test_before_the_deletion_the_timer_waits_for_the_watermark(facts: RunFacts) -> None:
    text = text_of(ask(facts, "out", "k1", at_ms=15))

    assert text.startswith(
        'Event-time timer 1 ms of key "k1" at alarms (1/1) is registered and has not fired by 15 ms.'
    )
    assert "It fires when the watermark of its operator reaches 1 ms, not when the clock does." in text
