"""Checkpoints of whole jobs that are aborted or declined, and those of vertices of which a part has finished."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from flowsim.checkpoints.storage.job_checkpoint_storage import MemoryCheckpointStorage
from flowsim.cluster.failures import FailTask
from flowsim.cluster.job_execution import JobExecutionResult, JobStatus, RunOptions
from flowsim.cluster.mini_cluster import MiniCluster
from flowsim.cluster.run_actions import TriggerCheckpoint
from flowsim.connectors.generator import SequenceOf
from flowsim.connectors.memory import CollectSink
from flowsim.connectors.partitioned_generator import Partition, PartitionedGeneratorSource
from flowsim.connectors.script import ScriptedSource, record, sleep, watermark
from flowsim.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from flowsim.datastream.common import Types, WatermarkStrategy
from flowsim.facts.kinds import CheckpointStep, ElementKind, Level
from flowsim.graph.checkpoint_settings import CheckpointSettings, FixedDelayRestart
from flowsim.operators.stream_operator import Value
from flowsim.recording.memory import MemoryRecorder
from flowsim.sim.virtual_time_loop import START_NS
from flowsim.state.snapshots.stored_streams import StoredStream
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


def markers(result: JobExecutionResult, recorder: MemoryRecorder) -> list[tuple[str, int]]:
    """The cancellation markers that were sent: task and checkpoint."""
    sent = [row for row in sorted(recorder.rows("sent")) if row[5] == ElementKind.CANCEL_CHECKPOINT_MARKER]
    return [(result.tasks[row[1]].name, row[6]) for row in sent]


class TimedOperator(LoggedOperator):
    """Also logs the time of its record 85."""

    __slots__ = ()

    def process_element(self, value: Value, timestamp: int | None) -> None:
        if self.count == 84:
            self.log.add("time", f"{(self.clock.now_ns - START_NS) // NS_PER_MS} ms")
        super().process_element(value, timestamp)


def test_task_that_is_notified_of_an_abort_first_sends_markers_instead_of_barriers() -> None:
    """Rules 12.5, 12.64: it remembers as many aborted checkpoints as there may be concurrent ones."""
    log = CallLog()
    settings = replace(ON_REQUEST, min_pause_ms=0, timeout_ms=30, tolerable_failures=9, max_concurrent=2)
    job = checkpointed_job(settings, buffer_timeout_ms=0)
    slow = job.operator(numbers(job, 30), "slow", "slow", log.make(), chain=False)
    job.graph.nodes[slow].cost_ns = 12 * NS_PER_MS
    job.operator(slow, "last", "last", log.make(), chain=False)
    result, recorder = run_and_record(job, *(TriggerCheckpoint(at * NS_PER_MS) for at in (20, 25)))
    assert result.status is JobStatus.FINISHED, result.error
    assert aborted_checkpoints(recorder) == [(1, "CHECKPOINT_EXPIRED"), (2, "CHECKPOINT_EXPIRED")]
    calls = ["aborted 1", "aborted 2", "end input", "finish", "prepare 3", "snapshot 3 30", "complete 3", "close"]
    assert log.of("slow") == log.of("last") == ["initialize", "open", *calls]
    assert markers(result, recorder) == [("slow (1/1)", 1), ("slow (1/1)", 2)]


@pytest.mark.parametrize(("exactly_once", "resumed"), [(True, "361 ms"), (False, "79 ms")])
def test_marker_ends_the_alignment_of_an_aborted_checkpoint(exactly_once: bool, resumed: str) -> None:
    """Rules 12.11, 12.13, 12.81: the notification of the abort does not resume the channels, the marker does."""
    log = CallLog()
    settings = replace(ON_REQUEST, timeout_ms=30, tolerable_failures=9, exactly_once=exactly_once)
    job = checkpointed_job(settings, buffer_timeout_ms=0)
    quick, slow = numbers(job, 80), numbers(job, 30)
    slow = job.operator(slow, "slow", "slow", log.make(), chain=False)
    job.graph.nodes[slow].cost_ns = 12 * NS_PER_MS
    both = job.operator([quick, slow], "both", "both", lambda: TimedOperator(log), chain=False)
    job.graph.nodes[both].cost_ns = 0
    job.operator(both, "last", "last", log.make(), chain=False)
    result, recorder = run_and_record(job, TriggerCheckpoint(50 * NS_PER_MS))
    assert result.status is JobStatus.FINISHED, result.error
    assert aborted_checkpoints(recorder) == [(1, "CHECKPOINT_EXPIRED")]
    assert log.of("time") == [resumed]
    assert markers(result, recorder) == [("slow (1/1)", 1), ("both (1/1)", 1)]
    assert log.of("last")[-4:] == ["prepare 2", "snapshot 2 110", "complete 2", "close"]


def fail_writes(monkeypatch: pytest.MonkeyPatch, log: CallLog) -> None:
    """Lets writes of state fail as the log says."""
    write = MemoryCheckpointStorage.write

    def logged(
        self: MemoryCheckpointStorage, checkpoint_id: int, operator_id: str, subtask: int, stream: StoredStream
    ) -> str:
        log.add("storage", f"write {checkpoint_id}")
        return write(self, checkpoint_id, operator_id, subtask, stream)

    monkeypatch.setattr(MemoryCheckpointStorage, "write", logged)


@pytest.mark.parametrize("tolerable", [0, 9])
def test_failure_of_the_asynchronous_part_declines_the_checkpoint(
    tolerable: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rules 12.7, 12.52, 12.53, 12.54: the task fails only if no more failures are tolerated."""
    log = CallLog(fails_at={"storage": "write 2"})
    fail_writes(monkeypatch, log)
    job = checkpointed_job(CheckpointSettings(interval_ms=20, tolerable_failures=tolerable))
    job.operator(numbers(job, 60), "count", "count", log.make(), chain=False)
    result, recorder = run_and_record(job)
    assert (result.status, result.restarts) == (JobStatus.FINISHED, 0 if tolerable else 1)
    assert aborted_checkpoints(recorder)[0] == (2, "CHECKPOINT_ASYNC_EXCEPTION")


def test_task_ends_with_a_later_checkpoint_if_its_last_one_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rule 12.94: the one that all tasks triggered by their end of data fails; a periodic one follows."""
    log = CallLog(fails_at={"storage": "write 1"})
    fail_writes(monkeypatch, log)
    job = checkpointed_job(CheckpointSettings(interval_ms=100, tolerable_failures=9))
    job.operator(numbers(job, 5), "count", "count", log.make(), chain=False)
    result, recorder = run_and_record(job)
    assert result.status is JobStatus.FINISHED, result.error
    assert aborted_checkpoints(recorder) == [(1, "CHECKPOINT_ASYNC_EXCEPTION")]
    assert log.of("count")[2:] == [
        "end input", "finish", "prepare 1", "snapshot 1 5", "aborted 1", "prepare 2", "snapshot 2 5", "complete 2", "close",
    ]  # fmt: skip


class TenTimers(KeyedProcessFunction):
    """Its records register an event-time timer each."""

    def __init__(self, is_interruptible: bool) -> None:
        self._is_interruptible = is_interruptible

    def use_interruptible_timers(self) -> bool:
        return self._is_interruptible

    def process_element(self, value: tuple[str, int], ctx: KeyedProcessFunction.Context) -> Iterable[object]:
        ctx.timer_service().register_event_time_timer(value[1])
        return ()

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterable[object]:
        yield timestamp


@pytest.mark.parametrize(("is_interruptible", "notified_ms"), [(False, 20), (True, 15)])
def test_notification_interrupts_timers_and_a_barrier_waits_for_them(is_interruptible: bool, notified_ms: int) -> None:
    """Rules 9.18, 12.69: a notification is a mail, a barrier is input."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.configure(
        interruptible_timers=True,
        buffer_timeout_ms=0,
        checkpointing=replace(ON_REQUEST, async_latency_ns=4 * NS_PER_MS),
    )
    records = [record(("a", number), number) for number in range(1, 11)]
    script = [*records, sleep(10), watermark(10), sleep(50)]
    keyed = env.add_source(ScriptedSource(script)).key_by(lambda pair: pair[0], Types.STRING())
    slow = keyed.process(TenTimers(is_interruptible)).name("timers").map(lambda value: value).name("slow")
    slow.cost(NS_PER_MS).sink_to(CollectSink())
    recorder = MemoryRecorder(Level.FULL)
    actions = (TriggerCheckpoint(10 * NS_PER_MS), TriggerCheckpoint(16 * NS_PER_MS))
    result = MiniCluster(env.stream_graph(), RunOptions(recorder=recorder, actions=actions)).run()
    assert result.status is JobStatus.FINISHED, result.error
    (task,) = [number for number, each in enumerate(result.tasks) if each.name.startswith("timers")]
    steps = [
        (CheckpointStep(row[4]).name, row[3], (row[2] - START_NS) // NS_PER_MS)
        for row in sorted(recorder.rows("checkpoint_steps"))
        if row[1] == task
    ]
    assert ("NOTIFY_COMPLETE", 1, notified_ms) in steps
    assert ("SYNC_START", 2, 20) in steps


def test_vertex_of_which_a_part_finished_restarts_with_all_its_subtasks() -> None:
    """Rules 12.35, 12.100: the partition that was read to its end is not read again, and none is lost."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.configure(checkpointing=CheckpointSettings(interval_ms=20), restart_strategy=FixedDelayRestart(1, 0))
    source = PartitionedGeneratorSource([Partition(1000, records=5), Partition(1000, records=150)], {"n": SequenceOf()})
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "log").set_parallelism(2)
    sink = CollectSink()
    numbers.map(lambda value: value).name("map").set_parallelism(1).sink_to(sink).set_parallelism(1)
    failure = FailTask("map", at_record=120)
    result = MiniCluster(env.stream_graph(), RunOptions(failures=(failure,))).run()
    assert (result.status, result.restarts) == (JobStatus.FINISHED, 1)
    sources = [(each.number, each.state) for each in result.attempts if each.task.startswith("Source: log")]
    assert sources == [(0, "FINISHED"), (1, "FINISHED"), (0, "CANCELED"), (1, "FINISHED")]
    assert sorted(sink.values()) == sorted([(2 * n,) for n in range(5)] + [(2 * n + 1,) for n in range(150)])


def test_report_of_a_failure_waits_behind_a_request_for_a_checkpoint() -> None:
    """A report that comes at once finds the request still waiting, and rejects it because the job restarts."""
    log = CallLog(fails_at={"long": "complete 1"})
    job = checkpointed_job(ON_REQUEST, buffer_timeout_ms=0)
    job.operator(numbers(job, 60), "long", "long", log.make(), chain=False)
    first = TriggerCheckpoint(15 * NS_PER_MS)
    requested = run_and_record(job, first, first)[0].requested_snapshots
    assert [(each.checkpoint_id, each.error) for each in requested] == [
        (1, None),
        (None, "Not all required tasks are currently running."),
    ]
