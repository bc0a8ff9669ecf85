"""Unaligned checkpoints of whole jobs: what is stored, what is restored, and what does not fit together (section 12.E)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from flowsim.cluster.job_execution import JobExecutionResult, JobStatus, RunOptions
from flowsim.cluster.mini_cluster import MiniCluster
from flowsim.cluster.run_actions import CancelJob, RunAction, StopWithSavepoint, TriggerCheckpoint, TriggerSavepoint
from flowsim.connectors.generator import GeneratorSource, SequenceOf
from flowsim.connectors.memory import CollectSink
from flowsim.datastream import DataStream, StreamExecutionEnvironment
from flowsim.datastream.common.watermark_strategy import WatermarkStrategy
from flowsim.errors import BadInput
from flowsim.facts.checkpoint_tables import CHECKPOINT_STEPS
from flowsim.facts.kinds import CheckpointStep, Level, StoredAction
from flowsim.graph.checkpoint_settings import CheckpointSettings, FixedDelayRestart, SavepointRestoreSettings
from flowsim.graph.job_settings import BufferDebloatSettings
from flowsim.laws.judge import check_all
from flowsim.recording.memory import MemoryRecorder
from flowsim.sim.virtual_time_loop import START_NS
from flowsim.simulation import FailTask
from flowsim.units import NS_PER_MS
from tests.support.jobs.requested_checkpoints import ON_REQUEST

RECORDS = 120
UNALIGNED = replace(ON_REQUEST, unaligned=True)
AT_40_MS = TriggerCheckpoint(40 * NS_PER_MS)


def slowed(stream: DataStream, name: str, parallelism: int = 2) -> DataStream:
    """An operator that takes 1 ms for a record."""
    return stream.map(lambda row: row).uid(name).name(name).set_parallelism(parallelism)


def rebalanced(stream: DataStream) -> DataStream:
    return slowed(stream.rebalance(), "slow")


class Job:
    """Numbers faster than a slow operator can process them, so that all buffers before it are full."""

    def __init__(
        self,
        build: Callable[[DataStream], DataStream] = rebalanced,
        settings: CheckpointSettings = UNALIGNED,
        *,
        debloat: BufferDebloatSettings | None = None,
    ) -> None:
        env = StreamExecutionEnvironment.get_execution_environment()
        source = GeneratorSource(RECORDS, {"n": SequenceOf(0, 1, None)}, pace_ns=NS_PER_MS // 5)
        numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")
        self.sink = CollectSink()
        build(numbers).sink_to(self.sink).uid("out").set_parallelism(1)
        self.graph = env.stream_graph()
        self.graph.settings = replace(
            self.graph.settings,
            checkpointing=settings,
            restart_strategy=FixedDelayRestart(1, 5),
            segment_size_bytes=64,
            buffer_timeout_ms=1,
            buffer_debloat=debloat,
        )
        for node in self.graph.nodes.values():
            if node.name.startswith("slow"):
                node.cost_ns = NS_PER_MS
        self.recorder = MemoryRecorder(Level.FULL)

    def run(
        self, *actions: RunAction, savepoint: SavepointRestoreSettings | None = None, fail_at: int | None = None
    ) -> JobExecutionResult:
        failures = () if fail_at is None else (FailTask("slow", at_record=fail_at),)
        options = RunOptions(recorder=self.recorder, actions=actions, savepoint=savepoint, failures=failures)
        return MiniCluster(self.graph, options).run()

    @property
    def rows(self) -> list[int]:
        return sorted(row[0] for row in self.sink.values())

    def stored(self, action: StoredAction = StoredAction.STORED, checkpoint: int = 1) -> dict[int, int]:
        """The number of stored elements by edge."""
        found: dict[int, int] = {}
        for row in self.recorder.rows("stored_channels"):
            if (row[2], row[3]) == (checkpoint, action):
                found[row[4]] = found.get(row[4], 0) + row[13]
        return found

    def violated(self) -> set[str]:
        return {outcome.law for outcome in check_all(self.recorder) if outcome.violations}


def test_restored_job_processes_what_was_in_flight_once() -> None:
    job = Job()
    result = job.run(AT_40_MS, fail_at=50)
    assert (result.status, result.restarts) == (JobStatus.FINISHED, 1)
    assert job.rows == list(range(RECORDS))
    assert sum(job.stored().values()) > 10
    assert job.stored(StoredAction.RESTORED) == job.stored()
    assert job.violated() == set()


@pytest.mark.parametrize("barrier", ["forward", "broadcast"])
def test_exchange_that_cannot_be_redistributed_stores_nothing(barrier: str) -> None:
    """Rule 12.19: its barriers stay in order; those of the other exchange of the job overtake."""

    def build(numbers: DataStream) -> DataStream:
        first = slowed(numbers.rebalance(), "slow", 1)
        behind = first.forward() if barrier == "forward" else first.broadcast()
        return slowed(behind, "slow again", 1).start_new_chain()

    job = Job(build)
    assert job.run(AT_40_MS, fail_at=50).status is JobStatus.FINISHED
    assert job.rows == list(range(RECORDS))
    partitioners = {edge[0]: edge[5] for edge in job.recorder.static_rows("edges")}
    assert {partitioners[edge] for edge in job.stored()} == {"REBALANCE"}
    assert job.violated() == set()


def test_input_beside_a_broadcast_input_is_aligned_too() -> None:
    """Rule 12.19: an operator with one such input aligns all its inputs."""

    def build(numbers: DataStream) -> DataStream:
        return slowed(numbers.rebalance().union(slowed(numbers, "other").broadcast()), "slow")

    job = Job(build)
    assert job.run(AT_40_MS).status is JobStatus.FINISHED
    of_slow = {edge[0] for edge in job.recorder.static_rows("edges") if edge[3] == 2}
    assert not of_slow & set(job.stored()), "only the input of the sink stores"
    assert sum(job.stored().values()) > 0
    assert job.violated() == set()


def test_finished_source_leaves_its_records_in_flight() -> None:
    job = Job()
    at_end = TriggerCheckpoint(30 * NS_PER_MS)
    assert job.run(at_end, fail_at=55).status is JobStatus.FINISHED
    assert job.rows == list(range(RECORDS))
    assert sum(job.stored().values()) > 10
    assert job.violated() == set()


def test_smaller_buffers_are_stored_and_restored() -> None:
    job = Job(debloat=BufferDebloatSettings(period_ms=5, target_ms=5, starting_bytes=64, minimum_bytes=16))
    assert job.run(AT_40_MS, fail_at=50).status is JobStatus.FINISHED
    assert job.rows == list(range(RECORDS))
    assert job.violated() == set()


def test_savepoint_beside_an_unaligned_checkpoint_is_aligned_and_waits_for_it(tmp_path: Path) -> None:
    """Rules 12.41, 12.47: a savepoint is not forced, and never unaligned."""
    settings = replace(UNALIGNED, async_latency_ns=10 * NS_PER_MS)
    job = Job(settings=settings)
    result = job.run(AT_40_MS, TriggerSavepoint(41 * NS_PER_MS, str(tmp_path)))
    assert [(each.checkpoint_id, each.error) for each in result.requested_snapshots] == [(1, None), (2, None)]
    assert sum(job.stored().values()) > 10
    assert job.stored(checkpoint=2) == {}
    assert job.violated() == set()


def test_stop_with_savepoint_processes_what_is_in_flight(tmp_path: Path) -> None:
    stopped = Job()
    result = stopped.run(AT_40_MS, StopWithSavepoint(45 * NS_PER_MS, False, str(tmp_path)), fail_at=30)
    assert result.status is JobStatus.FINISHED, result.error
    [_, savepoint] = result.requested_snapshots
    assert savepoint.error is None
    continued = Job()
    assert continued.run(savepoint=SavepointRestoreSettings(str(savepoint.path))).status is JobStatus.FINISHED
    assert sorted(stopped.rows + continued.rows) == list(range(RECORDS))
    assert stopped.violated() | continued.violated() == set()


def retained(tmp_path: Path, build: Callable[[DataStream], DataStream] = rebalanced) -> tuple[list[int], Path]:
    """A cancelled job, and its unaligned checkpoint with the committed rows before it."""
    settings = replace(UNALIGNED, directory=str(tmp_path / "first"), retention="RETAIN_ON_CANCELLATION")
    job = Job(build, settings)
    assert job.run(AT_40_MS, CancelJob(60 * NS_PER_MS)).status is JobStatus.CANCELED
    return job.rows, tmp_path / "first" / "chk-1"


@pytest.mark.parametrize("claim", ["CLAIM", "NO_CLAIM"])
@pytest.mark.parametrize("parallelism", [1, 2, 3])
def test_retained_checkpoint_is_restored_with_its_in_flight_data(claim: str, parallelism: int, tmp_path: Path) -> None:
    before, checkpoint = retained(tmp_path)
    job = Job(lambda numbers: slowed(numbers.rebalance(), "slow", parallelism).rebalance())
    restore = SavepointRestoreSettings(str(checkpoint), claim)  # type: ignore[arg-type]
    assert job.run(savepoint=restore).status is JobStatus.FINISHED
    assert sorted(before + job.rows) == list(range(RECORDS))
    assert sum(job.stored(StoredAction.RESTORED).values()) > 10
    assert checkpoint.exists() is (claim == "NO_CLAIM"), "a claimed checkpoint is deleted when it is subsumed"
    assert job.violated() == set()


def two_senders(parallelism: int) -> Callable[[DataStream], DataStream]:
    """``parallelism``: of one sender of `slow`; the other one has 2 subtasks."""

    def build(numbers: DataStream) -> DataStream:
        one = slowed(numbers.rebalance(), "one")
        other = slowed(numbers.rebalance(), "other", parallelism)
        return slowed(one.union(other).rebalance(), "slow")

    return build


def test_receiver_of_a_rescaled_and_another_sender_processes_all_in_flight_data(tmp_path: Path) -> None:
    before, checkpoint = retained(tmp_path, two_senders(1))
    job = Job(two_senders(3))
    result = job.run(savepoint=SavepointRestoreSettings(str(checkpoint)))
    assert (result.status, result.restarts) == (JobStatus.FINISHED, 0)
    assert sorted(before + job.rows) == sorted([*range(RECORDS)] * 2)
    assert job.violated() == set()


def test_in_flight_data_is_dropped_on_request(tmp_path: Path) -> None:
    """Rule 12.96."""
    before, checkpoint = retained(tmp_path)
    whole, dropping = Job(), Job(settings=replace(UNALIGNED, without_channel_state_id=1))
    restore = SavepointRestoreSettings(str(checkpoint))
    assert whole.run(savepoint=restore).status is dropping.run(savepoint=restore).status is JobStatus.FINISHED
    lost = set(whole.rows) - set(dropping.rows)
    maximum_watermarks = 2
    assert len(lost) + maximum_watermarks == sum(whole.stored(StoredAction.RESTORED).values())
    assert sorted({*before, *dropping.rows, *lost}) == list(range(RECORDS))


@pytest.mark.parametrize("before_slow", [DataStream.forward, DataStream.rebalance])
def test_exchange_that_is_chained_now_is_refused(
    before_slow: Callable[[DataStream], DataStream], tmp_path: Path
) -> None:
    """Rule 12.105; behind ``slow`` only buffers without unread bytes were stored (rule 12.84)."""
    _, checkpoint = retained(tmp_path)
    chained = Job(lambda numbers: slowed(before_slow(numbers), "slow", 1))
    with pytest.raises(BadInput, match="data exchanges with persisted data are now chained"):
        chained.run(savepoint=SavepointRestoreSettings(str(checkpoint)))


def test_aligned_timeout_makes_a_slow_alignment_unaligned() -> None:
    quick, slow = (Job(settings=replace(UNALIGNED, aligned_timeout_ms=timeout)) for timeout in (1000, 5))
    for job in (quick, slow):
        assert job.run(AT_40_MS, fail_at=50).status is JobStatus.FINISHED
        assert job.rows == list(range(RECORDS))
        assert job.violated() == set()
    assert quick.stored() == {}
    assert sum(slow.stored().values()) > 10


def test_barriers_overtake_1_ms_after_the_aligned_timeout() -> None:
    """Rule 9.10."""
    job = Job(settings=replace(UNALIGNED, aligned_timeout_ms=5))
    job.run(AT_40_MS)
    starts = [
        row[CHECKPOINT_STEPS.names.index("time_ns")] - START_NS
        for row in job.recorder.rows("checkpoint_steps")
        if row[CHECKPOINT_STEPS.names.index("step")] == CheckpointStep.ALIGNMENT_START
    ]
    assert min(starts) == 46 * NS_PER_MS
