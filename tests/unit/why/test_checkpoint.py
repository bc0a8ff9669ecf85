"""``flowsim why ... checkpoint``: its durations, counts and causes, compared with the facts of the run."""

from __future__ import annotations

import re

import pytest

import flowsim
from flowsim.errors import BadInput
from flowsim.facts.kinds import ElementKind
from flowsim.history.checkpoint_path import CheckpointSteps
from flowsim.quantities import duration_text
from flowsim.why.run_facts import RunFacts
from tests.unit.why.conftest import DECLINED, Ask, Recorded, text_of

EXPIRED = """\
flowsim: 1
name: expired
settings:
  record: full
  buffer_timeout: 0
  checkpointing: {interval: 1 h, min_pause: 1 h, timeout: 50 ms}
  restart_strategy: {fixed_delay: {delay: 10 ms}}
sources:
  orders: {generator: {count: 40, pace: 5 ms, fields: {n: {sequence: {}}}}}
operators:
  slow: {input: orders, chaining: never, cost: 30 ms, map: {add: {m: n}}}
sinks: {out: {input: slow, chaining: never, collect: {}}}
actions:
  - checkpoint: {at: 100 ms}
"""
COMPLETED = [
    "28_async_two_designs",
    "33_aligned_checkpoint_under_skew",
    "39_at_least_once_mode",
    "40b_unaligned_under_back_pressure",
]


def facts_of(recorded: Recorded, scenario: str) -> RunFacts:
    return RunFacts(flowsim.open_recording(recorded(scenario)))


@pytest.mark.parametrize("scenario", COMPLETED)
def test_parts_of_a_checkpoint_follow_each_other_from_trigger_to_completion(recorded: Recorded, scenario: str) -> None:
    facts = facts_of(recorded, scenario)
    for one in facts.checkpoints().checkpoints.values():
        at_ns = one.triggered_ns
        for part in CheckpointSteps(facts, one).path():
            assert part.begin_ns == at_ns
            at_ns = part.end_ns
        assert at_ns == one.ended_ns


@pytest.mark.parametrize("scenario", COMPLETED)
def test_measured_times_of_tasks_agree_with_the_parts(recorded: Recorded, scenario: str) -> None:
    """Table checkpoint_metrics is measured by the tasks, in ms: the first barrier comes after the parts before it."""
    facts = facts_of(recorded, scenario)
    for one in facts.checkpoints().checkpoints.values():
        path = CheckpointSteps(facts, one).path()
        for part in path:
            measured = facts.all_rows("checkpoint_metrics").equal(checkpoint=one.checkpoint, task=part.task).first()
            steps = CheckpointSteps(facts, one).of(part.task)
            assert measured is not None
            if part.channel is not None:
                alignment_ns = measured["alignment_ns"]
                first_ns = part.end_ns - (alignment_ns if steps[2]["time_ns"] == part.end_ns else 0)  # type: ignore[index]
                assert abs(measured["start_delay_ns"] - (first_ns - one.triggered_ns)) <= 1_000_000


def test_slow_checkpoint_names_the_barrier_and_the_elements_before_it(recorded: Recorded, ask: Ask) -> None:
    """The barrier waits at ``merged`` until the records before it are read, while the other channel is blocked."""
    facts = facts_of(recorded, "33_aligned_checkpoint_under_skew")
    answer = ask("33_aligned_checkpoint_under_skew", "checkpoint")

    assert answer.statement.text == (
        "Checkpoint 1 was complete 340 ms after its trigger at 500 ms. For 340 ms of it (100%) "
        "its barrier was in channel #0 from Source: busy (1/1) to merged (1/1)."
    )
    sent = facts.rows("sent", 0).equal(channel=0)
    barrier = sent.equal(kind=ElementKind.CHECKPOINT_BARRIER, timestamp=1).first()
    assert barrier is not None
    received = facts.rows("received", 2).equal(channel=0)
    unread = len(sent.before(barrier["seq"])) - len(received.where(received["time_ns"] <= barrier["time_ns"]))
    assert f"merged (1/1) had not read {unread:,} elements before it" in answer.causes[0].text
    measured = facts.all_rows("checkpoint_metrics").equal(checkpoint=1, task=2).first()
    assert measured is not None
    assert f"and the last one {duration_text(measured['alignment_ns'])} later" in text_of(answer)
    assert "Meanwhile, merged (1/1) was busy 100%" in answer.causes[1].text


def test_records_behind_the_barrier_of_an_at_least_once_checkpoint_are_those_that_count_twice(ask: Ask) -> None:
    """The scenario counts 101 records instead of 64."""
    text = text_of(ask("39_at_least_once_mode", "checkpoint", "1"))
    assert "It read 37 records behind the barrier of their channel before its snapshot" in text
    assert 101 - 64 == 37


def test_trigger_waits_in_the_mailbox_of_a_task_that_yields(ask: Ask) -> None:
    answer = ask("28_async_two_designs", "checkpoint")

    assert answer.statement.text.startswith("Savepoint 1 was complete 50 ms after its trigger")
    assert answer.statement.text.endswith(
        "For 50 ms of it (100%) its trigger waited in the mailbox of Source: today (1/1)."
    )
    assert "The queue of today_asked is full" in text_of(answer)
    assert "sinks commit nothing because of it" in text_of(answer)


def test_overtaken_elements_and_stored_bytes_of_an_unaligned_checkpoint(recorded: Recorded, ask: Ask) -> None:
    facts = facts_of(recorded, "40b_unaligned_under_back_pressure")
    stored = facts.all_rows("checkpoint_metrics").equal(checkpoint=1)["persisted_bytes"].sum()
    overtaken = 0
    for channel in facts.graph.channels.values():
        at = facts.until(facts.checkpoints().checkpoints[1].triggered_ns).whole
        sent = at.rows("sent", channel.source_task).equal(channel=channel.channel, kind=ElementKind.UNALIGNED_BARRIER)
        read = at.rows("received", channel.target_task).equal(
            channel=channel.channel, kind=ElementKind.UNALIGNED_BARRIER
        )
        overtaken += int(sent["position"][0] - read["position"][0])
    text = text_of(ask("40b_unaligned_under_back_pressure", "checkpoint", "1"))
    assert (
        f"Its barriers overtook {overtaken:,} elements on 8 channels of 8; {stored:,} bytes of data in flight" in text
    )
    assert "1 committable was committed with it, in 2 commits, because a restore commits them again" in text


def test_expired_checkpoint_names_what_it_waited_for_and_what_followed(ask: Ask) -> None:
    answer = ask(EXPIRED, "checkpoint")

    assert answer.statement.text == (
        "Checkpoint 1 expired at 150 ms, 50 ms after its trigger: CHECKPOINT_EXPIRED, "
        "'Checkpoint expired before completing'."
    )
    text = text_of(answer)
    assert "1 of 4 tasks acknowledged it; 3 acknowledgements did not come." in text
    assert "slow (1/1): its barrier was in channel #0 from Source: orders (1/1) to slow (1/1) since 100 ms" in text
    # 21 records were sent up to 100 ms, and one takes 30 ms: 4 were read before 100 ms, the fifth at 120 ms.
    assert (
        "slow (1/1) had not read 16 elements before it. By 150 ms it had read 1 of them, and not the barrier." in text
    )
    assert (
        "the job tolerates 0 failed checkpoints in a row, so the job failed as a whole because of it (failure 0)"
        in text
    )
    assert "checkpoint 2: completed after 0 ns" in answer.notes


def test_checkpoint_in_progress_at_a_moment(ask: Ask) -> None:
    answer = ask(EXPIRED, "checkpoint", "1", at_ms=120)

    assert answer.statement.text == "Checkpoint 1 is in progress since 100 ms, for 20 ms by 120 ms."
    assert "Meanwhile, slow (1/1) was busy 100%" in text_of(answer)
    later = ask(EXPIRED, "checkpoint", "1", at_ms=90).statement.text
    assert later == "Checkpoint 1 was not triggered by 90 ms: that happens at 100 ms."
    with pytest.raises(BadInput, match=r"there is no checkpoint '1'; the recording has no checkpoints by 90 ms"):
        ask(EXPIRED, "aligned", "orders", "1", at_ms=90)


def test_declined_checkpoint_names_the_task_and_its_state(ask: Ask) -> None:
    text = text_of(ask(DECLINED, "checkpoint", "2"))

    assert "Checkpoint 2 was aborted because asked (1/1) declined it at 1.4 s" in text
    assert "asked (1/1) was not ready: the last event of its life cycle was FINISHED" in text
    assert "does not count as a failed checkpoint" in text
    assert (
        "1 of 4 tasks acknowledged it, with 1 task that had finished before; 2 acknowledgements did not come." in text
    )
    assert "its trigger waited" not in text


def test_state_of_a_task_names_its_moment(ask: Ask) -> None:
    causes = [cause.text for cause in ask("33_aligned_checkpoint_under_skew", "checkpoint", "1").causes]
    spent = next(text for text in causes if text.startswith("Meanwhile"))
    assert spent.endswith("It handles a barrier only between two elements. What follows is about 670.015 ms.")
    assert causes[causes.index(spent) + 1].startswith("merged (1/1) is busy")


def test_job_without_checkpoints_says_why(ask: Ask) -> None:
    text = text_of(ask("08b_stop_without_drain", "checkpoint"))
    assert "No checkpoint was triggered." in text
    assert "Checkpointing has no interval" in text
    assert re.search(
        r"the first checkpoint is due after a random time between .* \(min_pause\)",
        text_of(ask(EXPIRED, "checkpoint", at_ms=90)),
    )


def test_unknown_checkpoint_is_refused(ask: Ask) -> None:
    with pytest.raises(BadInput, match="there is no checkpoint '7'; the recording has 1 to 2"):
        ask(EXPIRED, "checkpoint", "7")
