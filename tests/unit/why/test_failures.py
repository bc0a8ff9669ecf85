"""``flowsim why ... restart`` and ``failed``: causes, regions, strategies and what is repeated, compared with the facts."""

from __future__ import annotations

import pytest

import flowsim
from flowsim.errors import BadInput
from flowsim.facts.kinds import ElementKind, StoredAction
from flowsim.why.run_facts import RunFacts
from tests.unit.why.conftest import DECLINED, Ask, Recorded, text_of

TWO_PIPELINES = """\
flowsim: 1
name: two-pipelines
settings:
  restart_strategy: {fixed_delay: {attempts: 2, delay: 10 ms}}
sources:
  left: {generator: {count: 30, pace: 10 ms, fields: {n: {sequence: {}}}}}
  right: {generator: {count: 30, pace: 10 ms, fields: {n: {sequence: {}}}}}
operators:
  halved: {input: left, chaining: never, map: {add: {m: 60 // (n - 20)}}}
sinks:
  out: {input: halved, collect: {}}
  kept: {input: right, collect: {}}
"""
ALONE = ("failures=[{fail_task: {task: kept, at: 100 ms}}]", "operators.halved.map={add: {m: n}}")


def facts_of(recorded: Recorded, scenario: str) -> RunFacts:
    return RunFacts(flowsim.open_recording(recorded(scenario)))


def test_restart_names_cause_region_strategy_and_state(ask: Ask) -> None:
    answer = ask("40b_unaligned_under_back_pressure", "restart")

    assert answer.statement.text == (
        "Attempt 0 of slow (1/2) failed at 433.612 ms (failure 0), and 6 tasks of 6 were restarted at 483.612 ms from "
        "checkpoint 1."
    )
    cause, region, strategy, state, *_ = answer.causes
    assert cause.text.startswith(
        "The cause is RequestedFailure in slow, while it processed record (782, 6): slow (1/2) fails"
    )
    assert region.text.startswith("Pipelined exchanges connect these tasks with slow (1/2)")
    assert "slow (1/2): attempt 0 failed at 433.612 ms" in region.details
    assert "Sink: out (1/1): attempt 0 was canceled at 433.612 ms" in region.details
    assert strategy.text == (
        "The restart strategy fixed-delay allows 1 restart: this is failure number 1 of the run, so the restart is due 50 ms "
        "after it."
    )
    assert "the latest that was complete: triggered at 150 ms, complete at 151.634 ms" in state.text


def test_records_that_are_read_again_are_those_of_the_next_attempt(recorded: Recorded, ask: Ask) -> None:
    facts = facts_of(recorded, "40b_unaligned_under_back_pressure")
    text = text_of(ask("40b_unaligned_under_back_pressure", "restart", "0"))
    sent = [facts.in_attempt(0, attempt).rows("sent", 0).equal(kind=ElementKind.RECORD) for attempt in (0, 1)]
    before, after = ([facts.names.value(one) for one in rows["fingerprint"].tolist()] for rows in sent)
    again = [value for value in before if value in set(after)]

    assert f"{len(again)} records were read after the snapshots of checkpoint 1, and are read again" in text
    assert f"again: {again[0]}, {again[1]}, {again[2]} to {again[-1]}" in text
    restored = facts.rows("source_positions", 0).equal(action=StoredAction.RESTORED).first()
    assert restored is not None
    assert f"Source: orders (1/1) continues at position {len(before) - len(again)} of split" in text
    assert restored["position"] == len(before) - len(again)


def test_elements_in_flight_are_those_that_the_barriers_overtook(ask: Ask) -> None:
    restart = text_of(ask("40b_unaligned_under_back_pressure", "restart"))
    checkpoint = text_of(ask("40b_unaligned_under_back_pressure", "checkpoint", "1"))

    assert "Its barriers overtook 538 elements on 8 channels" in checkpoint
    assert "The checkpoint contains 538 elements that its barriers overtook, of 8 channels" in restart


def test_rows_that_a_sink_shows_twice_are_counted(ask: Ask) -> None:
    """Its scenario expects 20 rows at the sink once, and 24 at the sink repeated."""
    text = text_of(ask("38_delivery_of_sinks", "restart"))

    assert "Sink: repeated in Source: numbers (1/1) had written 4 rows after the snapshots of checkpoint 1." in text
    assert (
        "Sink: once in Source: numbers (1/1) had got 4 rows after the snapshots of checkpoint 1. They were not committed"
        in text
    )
    assert "1 committable of the restored state was committed by the restart" in text


def test_failed_attempt_ends_when_its_failure_is_reported(ask: Ask) -> None:
    """The clock of the busy task is 1 us ahead of it."""
    answer = ask("38_delivery_of_sinks", "restart")
    assert answer.statement.text.startswith("Attempt 0 of Source: numbers (1/1) failed at 150.003 ms (failure 0)")
    assert "Source: numbers (1/1): attempt 0 failed at 150.003 ms" in text_of(answer)


def test_cause_that_the_error_names_is_not_named_again(ask: Ask) -> None:
    cause = ask("26a_async_timeout_fails", "failed").causes[0].text
    assert cause.endswith("could not complete the element: TimeoutError: Async function call has timed out.")


def test_one_row_of_a_sink_that_was_not_committed(ask: Ask) -> None:
    text = text_of(ask("42b_late_after_unaligned_restore", "restart"))
    assert (
        "had got 1 row after the snapshots of checkpoint 1. It was not committed, so it is not visible twice." in text
    )


def test_async_calls_are_repeated(recorded: Recorded, ask: Ask) -> None:
    """The law of async operators sees the elements that are put again before the first new one."""
    facts = facts_of(recorded, "35_async_elements_restored")
    task = next(task for task in facts.graph.tasks if facts.task(task) == "asked (1/1)")
    life = facts.rows("lifecycle", task).equal(operator=-1).row(0)
    again = facts.rows("async_elements", task).equal(action=0)
    again = again.where(again["time_ns"] == life["time_ns"])
    text = text_of(ask("35_async_elements_restored", "restart"))
    assert f"asked (1/1) had {len(again)} elements in its queue when it took its snapshot" in text


def test_watermarks_are_not_restored(ask: Ask) -> None:
    text = text_of(ask("42b_late_after_unaligned_restore", "restart"))
    assert "No operator stores its watermark: counts (1/1) starts without one" in text


def test_only_the_region_of_a_failure_restarts(ask: Ask) -> None:
    text = text_of(ask(TWO_PIPELINES, "restart", overrides=ALONE))

    assert "No pipelined exchange connects Source: right (1/1) with another task: it restarts alone." in text
    assert "Not restarted: Source: left (1/1), halved (1/1)" in text
    assert "No checkpoint was complete, so the tasks start with their initial state" in text


def test_failed_job_names_the_record_and_the_strategy_that_allows_no_further_restart(ask: Ask) -> None:
    answer = ask(TWO_PIPELINES, "failed")

    assert answer.statement.text.startswith("Attempt 2 of halved (1/1) failed at ")
    assert answer.statement.text.endswith("(failure 2), and the job failed.")
    cause, strategy = answer.causes
    assert cause.text.startswith("The cause is ZeroDivisionError in halved, while it processed record (20,)")
    assert strategy.text == (
        "The restart strategy fixed-delay allows 2 restarts: this is failure number 3 of the run, so no further restart is "
        "allowed."
    )
    assert answer.notes[0].startswith("failure 0: attempt 0 of halved (1/1) failed at ")
    none = text_of(ask(TWO_PIPELINES, "failed", overrides=("settings.restart_strategy=null",)))
    assert "The job sets no restart strategy, and without periodic checkpoints every failure is final." in none


def test_job_that_did_not_fail_lists_what_was_made_up_for(ask: Ask) -> None:
    text = text_of(ask("38_delivery_of_sinks", "failed"))
    assert "The job did not fail: it finished. 1 failure was followed by a restart." in text
    text = text_of(ask(DECLINED, "failed"))
    assert "No failure was reported." in text
    assert "1 checkpoint failed, 0 of them for a reason that counts" in text


def test_failure_without_a_number_or_at_a_moment(ask: Ask) -> None:
    with pytest.raises(BadInput, match="there is no failure '7'; the recording has failures 0 to 2"):
        ask(TWO_PIPELINES, "restart", "7")
    later = ask(TWO_PIPELINES, "restart", "0", at_ms=50).statement.text
    assert later == "Failure 0 had not come by 50 ms: it comes at 290.002 ms."
    assert ask(TWO_PIPELINES, "restart", at_ms=50).statement.text == (
        "No task was restarted: no failure was reported by 50 ms."
    )
    at = ask(TWO_PIPELINES, "restart", at_ms=295).statement.text
    assert at == "Attempt 0 of halved (1/1) failed at 290.002 ms (failure 0), and the restart was due at 300.002 ms."
