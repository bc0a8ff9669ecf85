"""Checkpoints inside tasks of whole jobs: aborts, failures, alignment, yields, timers, and what they cost."""

from __future__ import annotations

from dataclasses import replace

import pytest

from flowsim.cluster.job_execution import JobStatus
from flowsim.cluster.run_actions import StopJob, TriggerCheckpoint
from flowsim.errors import BadInput
from flowsim.facts.kinds import CheckpointAction, CheckpointStep
from flowsim.graph.checkpoint_settings import CheckpointSettings
from flowsim.network.partitions.result_partition_type import ResultPartitionType
from flowsim.operators.functions.co_process import CoMapOperator
from flowsim.operators.stream_operator import StreamOperator, Value
from flowsim.recording.memory import MemoryRecorder
from flowsim.units import NS_PER_MS
from tests.support.jobs.logged_operators import (
    CallLog,
    LoggedOperator,
    aborted_checkpoints,
    checkpointed_job,
    numbers,
    run_and_record,
)
from tests.support.jobs.requested_checkpoints import ON_REQUEST
from tests.support.jobs.small_jobs import SmallJob


def measured(recorder: MemoryRecorder, column: str) -> list[int]:
    """A column of table checkpoint_metrics, in the order of the acknowledgements."""
    names = [
        "start_delay_ns",
        "alignment_ns",
        "alignment_bytes",
        "persisted_bytes",
        "sync_ms",
        "async_ms",
        "state_bytes",
    ]
    rows = sorted(recorder.rows("checkpoint_metrics"), key=lambda row: (row[2], row[1]))
    return [row[4 + names.index(column)] for row in rows]


# Alignment: unions, several inputs, and both modes.


def quick_and_slow(
    checkpointing: CheckpointSettings, log: CallLog, *, united: bool = True, records: int = 120
) -> SmallJob:
    """A quick source, and one whose records wait before a slow operator, into "both" (a union or two inputs)."""
    job = checkpointed_job(checkpointing, buffer_timeout_ms=0)
    quick, slow = numbers(job, records), numbers(job, 30)
    slow = job.operator(slow, "slow", "slow", log.make(), chain=False)
    job.graph.nodes[slow].cost_ns = 12 * NS_PER_MS
    if united:
        job.operator([quick, slow], "both", "both", log.make(), chain=False)
    else:
        merged = job.inputs([quick, slow], lambda: CoMapOperator(list, list), "inputs")
        job.operator(merged, "both", "both", log.make())
    return job


@pytest.mark.parametrize("united", [True, False])
def test_barrier_waits_for_the_slowest_channel_of_all_inputs(united: bool) -> None:
    """Rules 12.9, 12.11, 12.78: barrier 1 is at record 50 of the quick source, and behind 30 records of the slow one."""
    log = CallLog(fails_at={"both": "record 100"})
    result, recorder = run_and_record(quick_and_slow(ON_REQUEST, log, united=united), TriggerCheckpoint(50 * NS_PER_MS))
    assert result.status is JobStatus.FINISHED, result.error
    aligned_ms = [nanoseconds // NS_PER_MS for nanoseconds in measured(recorder, "alignment_ns")]
    assert max(aligned_ms) > 200
    snapshots = [call for call in log.of("both") if call.startswith("snapshot")]
    assert snapshots == ["snapshot 1 81", "snapshot 2 150"]
    assert [call for call in log.of("both") if call.startswith("restore")] == ["restore 1 81"]


def test_snapshot_at_least_once_has_records_from_behind_the_barrier() -> None:
    """Rule 12.16: channels are not blocked, so records are counted twice after a failure."""
    log = CallLog(fails_at={"both": "record 430"})
    settings = replace(ON_REQUEST, exactly_once=False)
    result, _ = run_and_record(quick_and_slow(settings, log, records=420), TriggerCheckpoint(50 * NS_PER_MS))
    assert result.status is JobStatus.FINISHED, result.error
    counts = [int(call.split()[-1]) for call in log.of("both") if call.startswith("snapshot")]
    assert counts[0] > 81
    assert counts[-1] == counts[0] + 450 - 81


# Aborts.


def test_asynchronous_part_of_an_expired_checkpoint_ends_without_effect() -> None:
    """Rules 12.3, 12.54, 12.69: it is closed behind itself, so it acknowledges, and what it wrote is not kept."""
    log = CallLog()
    settings = CheckpointSettings(
        timeout_ms=30, tolerable_failures=9, async_latency_ns=50 * NS_PER_MS, after_tasks_finish=False
    )
    job = checkpointed_job(settings)
    job.operator(numbers(job, 100), "count", "count", log.make(), chain=False)
    result, recorder = run_and_record(job, TriggerCheckpoint(10 * NS_PER_MS))
    assert result.status is JobStatus.FINISHED, result.error
    assert aborted_checkpoints(recorder) == [(1, "CHECKPOINT_EXPIRED")]
    assert log.of("count") == [
        "initialize", "open", "prepare 1", "snapshot 1 11", "aborted 1", "end input", "finish", "close",
    ]  # fmt: skip
    steps = {CheckpointStep(row[4]) for row in recorder.rows("checkpoint_steps") if row[3] == 1}
    assert CheckpointStep.ACKNOWLEDGE in steps
    assert CheckpointStep.DECLINE not in steps
    assert measured(recorder, "state_bytes") == [0, 0]
    assert (result.checkpoints.completed, result.checkpoints.failed) == (0, 1)


@pytest.mark.parametrize(
    ("settings", "measured_ms"),
    [
        (ON_REQUEST, [50, 50, 50, 50]),
        (replace(ON_REQUEST, after_tasks_finish=False), []),
        (CheckpointSettings(), []),
    ],
)
def test_task_that_ends_waits_for_asynchronous_parts_if_it_waits_for_a_final_checkpoint(
    settings: CheckpointSettings, measured_ms: list[int]
) -> None:
    """Rules 4.17, 12.146."""
    log = CallLog()
    job = checkpointed_job(replace(settings, async_latency_ns=50 * NS_PER_MS))
    job.operator(numbers(job, 20), "count", "count", log.make(), chain=False)
    result, recorder = run_and_record(job, TriggerCheckpoint(10 * NS_PER_MS))
    assert result.status is JobStatus.FINISHED, result.error
    assert measured(recorder, "async_ms") == measured_ms
    assert log.of("count")[-1] == "close"


@pytest.mark.parametrize("call", ["prepare 2", "snapshot 2 34", "complete 2", "aborted 2"])
def test_operator_that_fails_in_a_checkpoint_restores_the_last_complete_one(call: str) -> None:
    """Rules 12.7, 12.29, 12.69: a failed notification comes after the completion. No checkpoint is aborted here."""
    log = CallLog(fails_at={"count": call})
    never = call.startswith("aborted")
    settings = CheckpointSettings(interval_ms=20, timeout_ms=30, tolerable_failures=9)
    job = checkpointed_job(settings)
    job.operator(numbers(job, 60), "count", "count", log.make(), chain=False)
    result, _ = run_and_record(job)
    assert result.status is JobStatus.FINISHED, result.error
    restored = [call for call in log.of("count") if call.startswith("restore")]
    assert restored == ([] if never else ["restore 2 34"] if call.startswith("complete") else ["restore 1 14"])
    last = log.of("count")[-3].split()
    assert (last[0], last[2]) == ("snapshot", "60")


def test_operator_that_fails_in_an_abort_fails_its_task() -> None:
    """Rule 12.69."""
    log = CallLog(fails_at={"both": "aborted 1"})
    job = quick_and_slow(replace(ON_REQUEST, timeout_ms=30, tolerable_failures=9), log)
    result, _ = run_and_record(job, TriggerCheckpoint(50 * NS_PER_MS))
    assert (result.status, result.restarts) == (JobStatus.FINISHED, 1)
    assert log.of("both").count("initialize") == 2
    assert log.of("both")[-3:] == ["snapshot 2 150", "complete 2", "close"]


# What a task does while a barrier or a trigger waits.


class YieldingOperator(LoggedOperator):
    """Yields for 20 ms inside its record 10."""

    def process_element(self, value: Value, timestamp: int | None) -> None:
        super().process_element(value, timestamp)
        if self.count == 10:
            self.log.add(self.ctx.operator_name, "yields")
            fired: list[int] = []
            time = self.ctx.processing_time
            time.register_timer(time.current_processing_time_ms() + 20, fired.append)
            while not fired:
                self.ctx.mailbox_executor.yield_()
            self.log.add(self.ctx.operator_name, "yielded")


@pytest.mark.parametrize(("chain", "at_ms", "counts"), [(True, (15, 30), (8, 10)), (False, (7, 15), (8, 16))])
def test_checkpoint_waits_for_the_end_of_an_element_that_yields(
    chain: bool, at_ms: tuple[int, int], counts: tuple[int, int]
) -> None:
    """Rule 3.25: the trigger (chained) or barrier comes inside the element; a notification runs inside it."""
    log = CallLog()
    job = checkpointed_job(replace(ON_REQUEST, async_latency_ns=4 * NS_PER_MS), buffer_timeout_ms=0)
    job.operator(numbers(job, 40), "y", "y", lambda: YieldingOperator(log), chain=chain)
    result, _ = run_and_record(job, *(TriggerCheckpoint(at * NS_PER_MS) for at in at_ms))
    assert result.status is JobStatus.FINISHED, result.error
    first, second = counts
    assert log.of("y")[2:-6] == [
        "prepare 1", f"snapshot 1 {first}", "yields", "complete 1", "yielded", "prepare 2", f"snapshot 2 {second}",
        "complete 2",
    ]  # fmt: skip


def test_records_larger_than_a_buffer_stay_whole_around_barriers() -> None:
    """Rules 12.6, 12.11: a barrier is an event between buffers, behind the whole record."""
    log = CallLog(fails_at={"count": "record 50"})
    job = checkpointed_job(CheckpointSettings(interval_ms=10), segment_size_bytes=64, buffer_timeout_ms=1)
    source = job.operator(numbers(job, 60), "long", "map", lambda: LongRecords(), by=None)
    job.operator(source, "count", "count", log.make(), by="REBALANCE", chain=False)
    result, _ = run_and_record(job)
    assert (result.status, result.restarts) == (JobStatus.FINISHED, 1)
    assert log.of("count")[-3].endswith(" 60")


class LongRecords(StreamOperator):
    """Emits records of about 500 bytes."""

    def process_element(self, value: Value, timestamp: int | None) -> None:
        self.clock.now_ns += self.cost_ns
        self.records_in += 1
        self.output.collect((value, "x" * 500), timestamp)


def test_asynchronous_part_lasts_as_its_bytes_say() -> None:
    """Rule 12.142."""
    log = CallLog()
    job = checkpointed_job(CheckpointSettings(interval_ms=20, async_bytes_per_second=1000))
    job.operator(numbers(job, 50), "count", "count", log.make(), chain=False)
    result, recorder = run_and_record(job)
    assert result.status is JobStatus.FINISHED, result.error
    assert measured(recorder, "async_ms") == measured(recorder, "state_bytes")
    assert max(measured(recorder, "state_bytes")) > 0


# Stops and exchanges.


@pytest.mark.parametrize(
    ("settings", "last_calls"),
    [(ON_REQUEST, ["prepare 1", "snapshot 1 100", "complete 1"]), (CheckpointSettings(), [])],
)
def test_stop_without_drain_or_savepoint_takes_a_last_checkpoint_if_there_is_an_interval(
    settings: CheckpointSettings, last_calls: list[str]
) -> None:
    """Rules 4.20, 12.44, 12.94, 12.146."""
    log = CallLog()
    job = checkpointed_job(settings)
    first, second = numbers(job, 1000), numbers(job, 1000)
    merged = job.inputs([first, second], lambda: CoMapOperator(list, list), "inputs")
    job.operator(merged, "count", "count", log.make(), chain=False)
    result, _ = run_and_record(job, StopJob(50 * NS_PER_MS))
    assert result.status is JobStatus.FINISHED, result.error
    assert result.elapsed_ns < 1000 * NS_PER_MS
    assert log.of("count") == ["initialize", "open", *last_calls, "close"]


def test_stop_while_a_region_restarts_takes_a_last_checkpoint_when_its_new_attempt_has_ended() -> None:
    """The tasks of the other region do not report the end of data of a stop without drain (rule 12.44)."""
    log = CallLog(fails_at={"first": "record 20"})
    job = checkpointed_job(ON_REQUEST, buffer_timeout_ms=0)
    for name, count in (("first", 50), ("second", 1000)):
        job.operator(numbers(job, count), name, name, log.make(), chain=False)
    result, recorder = run_and_record(job, StopJob(25 * NS_PER_MS))
    assert (result.status, result.restarts) == (JobStatus.FINISHED, 1), result.error
    assert log.of("first")[-4:] == ["prepare 1", "snapshot 1 50", "complete 1", "close"]
    assert log.of("second") == ["initialize", "open", "prepare 1", "snapshot 1 25", "complete 1", "close"]
    assert [row[2] for row in recorder.rows("checkpoints") if row[3] == CheckpointAction.TRIGGERED] == [1]


def test_final_checkpoint_behind_a_blocking_exchange_is_refused() -> None:
    """Rules 4.15, 12.27: the reader would start when the task has ended."""
    job = checkpointed_job(CheckpointSettings(interval_ms=20), exchange=ResultPartitionType.BLOCKING)
    job.operator(numbers(job, 5), "reader", "reader", CallLog().make(), chain=False)
    with pytest.raises(
        BadInput, match=r"checkpointing: source waits .* reader is blocking.* after_tasks_finish to false"
    ):
        job.run()


def test_job_with_a_blocking_exchange_ends_without_a_final_checkpoint() -> None:
    """Rule 12.2: no checkpoint is taken while not all tasks run."""
    settings = CheckpointSettings(interval_ms=20, after_tasks_finish=False)
    job, log = checkpointed_job(settings, exchange=ResultPartitionType.BLOCKING), CallLog()
    job.operator(numbers(job, 100), "reader", "reader", log.make(), chain=False)
    result, recorder = run_and_record(job)
    assert result.status is JobStatus.FINISHED, result.error
    assert log.of("reader") == ["initialize", "open", "end input", "finish", "close"]
    assert measured(recorder, "sync_ms") == []
