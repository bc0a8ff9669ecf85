"""`flowsim why` keeps the attempts of a restarted task apart: a wait of an attempt that was canceled has ended."""

from __future__ import annotations

from pathlib import Path

import pytest

import flowsim
from flowsim.facts.kinds import ActionPhase, ElementKind, LifeEvent, RestartAction
from flowsim.history.task_states import waits_of
from flowsim.why.answer import WhyAnswer
from flowsim.why.questions import Asked, answer
from flowsim.why.run_facts import RunFacts
from tests.unit.why.conftest import text_of

ENDS = (LifeEvent.CANCELED, LifeEvent.FAILED, LifeEvent.FINISHED)
SCENARIO = Path(__file__).parent / "inputs" / "w1_why_after_restart.yaml"


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> RunFacts:
    out = tmp_path_factory.mktemp("restarted")
    flowsim.run_scenario(SCENARIO, out=out)
    return RunFacts(flowsim.open_recording(out))


def ask(facts: RunFacts, question: str, *about: str, at_ms: float | None = None) -> WhyAnswer:
    if at_ms is not None:
        facts = facts.until(facts.start_ns + round(at_ms * 1_000_000))
    return answer(facts, question, Asked(about))


def test_nothing_waits_after_the_restarted_job_has_finished(facts: RunFacts) -> None:
    found = ask(facts, "no-output", "out")
    received = facts.rows("received", 1).equal(kind=ElementKind.RECORD)
    assert found.statement.text == f"Sink: out has received {len(received)} rows in attempt 1 (of 0 to 1)."
    assert found.causes == ()
    assert len(received) < len(facts.rows("sent", 0).equal(kind=ElementKind.RECORD)) + 20


def test_between_failure_and_restart_the_cause_is_the_failure(facts: RunFacts) -> None:
    restart = next(event for event in facts.graph.history.restarts if event.action == RestartAction.RESTART)
    restarted = f"Attempt 1 starts from checkpoint {restart.checkpoint} at {facts.moment(restart.time_ns)}, after a delay of 1 s."
    (cause,) = ask(facts, "no-output", "out", at_ms=600).causes
    assert cause.text == f"slow (1/1) failed at 126.001 ms. {restarted}"
    found = ask(facts, "waiting", "orders", at_ms=600)
    assert found.statement.text == "Source: orders (1/1) does not wait at 600 ms: it was canceled."
    assert [cause.text for cause in found.causes] == [
        f"Source: orders (1/1) was canceled at 126.001 ms, because slow (1/1) failed. {restarted}"
    ]


def test_wait_after_the_restart_begins_after_it(facts: RunFacts) -> None:
    text = text_of(ask(facts, "waiting", "orders", at_ms=1200))
    assert "waits for input from 1.200002 s to 1.205002 s" in text or "from 1.195002 s to 1.200001 s" in text
    assert "126.0" not in text


def test_waits_of_an_attempt_end_with_it(facts: RunFacts) -> None:
    """Each wait lies between the begin and the end of its attempt, as table lifecycle has them."""
    for time_ns in (facts.start_ns + 600_000_000, facts.end_ns):
        at = facts.until(time_ns)
        for task in at.graph.tasks:
            life = at.whole.rows("lifecycle", task).equal(operator=-1)
            end_ns = next(row["time_ns"] for row in life if row["event"] in ENDS)
            for rows in waits_of(at, task).values():
                for begin, wait_end_ns in rows:
                    assert life.row(0)["time_ns"] <= begin["time_ns"] <= wait_end_ns <= end_ns


def test_facts_of_a_task_are_those_of_one_attempt(facts: RunFacts) -> None:
    restart_ns = next(e.time_ns for e in facts.graph.history.restarts if e.action == RestartAction.RESTART)
    for task in facts.graph.tasks:
        now, before = facts.rows("actions", task), facts.until(restart_ns - 1).rows("actions", task)
        assert len(now)
        assert len(before)
        assert int(now["time_ns"].min()) >= restart_ns > int(before["time_ns"].max())
        assert sum(map(len, facts.rows_of_attempts("actions", task))) == len(now) + len(before)
        assert (now["phase"] == ActionPhase.BEGIN).any()


def test_state_contains_rows_up_to_the_restored_snapshot(facts: RunFacts) -> None:
    """The sink has received in its state the records up to the restored checkpoint, and then those of its attempt."""
    of_state = facts.rows_of_state("received", 1).equal(kind=ElementKind.RECORD)
    assert len(of_state) == 100
    assert len(set(of_state["fingerprint"].tolist())) == 100
