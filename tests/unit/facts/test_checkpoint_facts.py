"""Facts about checkpoints and restarts."""

from __future__ import annotations

from flowsim.facts.checkpoint_tables import (
    CHECKPOINT_METRICS,
    CHECKPOINT_STEPS,
    CHECKPOINTS,
    COMMITTABLES,
    RESTARTS,
    SOURCE_POSITIONS,
    STORED_STATE,
)
from flowsim.facts.job_trace import JobTrace
from flowsim.facts.kinds import (
    CheckpointAction,
    CheckpointReason,
    CheckpointStep,
    CommittableAction,
    Level,
    RestartAction,
    SnapshotKind,
    StoredAction,
    StoredKind,
)
from flowsim.facts.tracer import TaskTrace
from flowsim.recording.memory import MemoryRecorder
from flowsim.state.key_group_range import KeyGroupRange
from flowsim.state.redistribution.operator_state import KeyGroupsStateHandle, OperatorSubtaskState
from flowsim.state.redistribution.operator_state_handle import DistributionMode, OperatorStateHandle, StateMetaInfo
from flowsim.state.snapshots.stored_streams import (
    KeyedStateStream,
    OperatorStateStream,
    StoredCell,
    StoredStream,
    StoredTimer,
    TimerStream,
)
from flowsim.streamrecord.checkpoint_exception import CheckpointFailureReason
from flowsim.task_clock import TaskClock
from flowsim.tasks.checkpointing.checkpoint_observer import record_state
from flowsim.values.encoding import fingerprint
from flowsim.values.java_long import wrapped


class _Streams:
    def __init__(self, **streams: StoredStream) -> None:
        self._streams = streams

    def write(self, checkpoint_id: int, operator_id: str, subtask: int, stream: StoredStream) -> str:
        raise NotImplementedError

    def keeps(self, checkpoint_id: int) -> bool:
        return True

    def read(self, stream_id: str) -> StoredStream:
        return self._streams[stream_id]


def test_reasons_have_the_names_of_flink():
    assert [reason.name for reason in CheckpointReason] == ["NONE", *(r.name for r in CheckpointFailureReason)]


def test_facts_of_the_job_are_numbered_over_both_tables():
    facts = MemoryRecorder(Level.ELEMENTS)
    job = JobTrace(TaskClock(7), facts)
    job.checkpoint(1, CheckpointAction.TRIGGERED, SnapshotKind.CHECKPOINT, 4, 0)
    job.failure(0, task=2, attempt=0, delay_ms=1000)
    job.restart(0, task=2, attempt=1, checkpoint=-1)
    job.checkpoint(
        1, CheckpointAction.ABORTED, SnapshotKind.CHECKPOINT, 4, 2, reason=CheckpointReason.JOB_FAILOVER_REGION
    )
    job.failure(1, task=-1, attempt=-1, delay_ms=None)
    assert facts.rows(CHECKPOINTS.name) == [
        (0, 7, 1, CheckpointAction.TRIGGERED, SnapshotKind.CHECKPOINT, 1, CheckpointReason.NONE, -1, 4, 0, 0),
        (
            3,
            7,
            1,
            CheckpointAction.ABORTED,
            SnapshotKind.CHECKPOINT,
            1,
            CheckpointReason.JOB_FAILOVER_REGION,
            -1,
            4,
            2,
            0,
        ),
    ]
    assert facts.rows(RESTARTS.name) == [
        (1, 7, RestartAction.FAILURE, 0, 2, 0, -1, 1000),
        (2, 7, RestartAction.RESTART, 0, 2, 1, -1, 0),
        (4, 7, RestartAction.GIVE_UP, 1, -1, -1, -1, 0),
    ]


def test_facts_of_a_task_have_its_sequence_numbers():
    facts = MemoryRecorder(Level.ELEMENTS)
    trace = TaskTrace(3, TaskClock(7), facts)
    trace.checkpoints.step(1, CheckpointStep.ALIGNMENT_START, channel=2)
    trace.checkpoints.step(1, CheckpointStep.DECLINE, reason=CheckpointReason.CHECKPOINT_DECLINED)
    trace.checkpoints.metrics(1, 10, 20, 30, 0, 1, 2, 99)
    trace.checkpoints.source_position(0, 1, StoredAction.STORED, 77, 5, 5)
    trace.checkpoints.committable(1, 1, CommittableAction.PREPARED, 88, 3, 123)
    none, declined = CheckpointReason.NONE, CheckpointReason.CHECKPOINT_DECLINED
    assert facts.rows(CHECKPOINT_STEPS.name) == [
        (0, 3, 7, 1, CheckpointStep.ALIGNMENT_START, 2, none),
        (1, 3, 7, 1, CheckpointStep.DECLINE, -1, declined),
    ]
    assert facts.rows(CHECKPOINT_METRICS.name) == [(2, 3, 7, 1, 10, 20, 30, 0, 1, 2, 99)]
    assert facts.rows(SOURCE_POSITIONS.name) == [(3, 3, 0, 7, 1, StoredAction.STORED, 77, 5, 5)]
    assert facts.rows(COMMITTABLES.name) == [(4, 3, 1, 7, 1, CommittableAction.PREPARED, 88, 3, 123)]


def test_stored_state_is_recorded_per_state_and_key_group():
    facts = MemoryRecorder(Level.ELEMENTS)
    cells = {
        1: (StoredCell("count", None, "a", 5), StoredCell("count", None, "b", 6)),
        2: (StoredCell("count", None, "c", 7),),
    }
    streams = _Streams(
        keyed=KeyedStateStream(cells),
        timers=TimerStream({1: (StoredTimer("window", True, 100, "a", (0, 100)),)}),
        lists=OperatorStateStream(("s0", "s1", (("k", 1), ("l", 2)), "unused")),
    )
    lists = {
        "splits": StateMetaInfo((0, 1), DistributionMode.SPLIT_DISTRIBUTE),
        "rules": StateMetaInfo((2,), DistributionMode.BROADCAST),
    }
    state = OperatorSubtaskState(
        managed_operator=(OperatorStateHandle("lists", lists),),
        managed_keyed=(KeyGroupsStateHandle("keyed", KeyGroupRange(0, 1)),),
        raw_keyed=(KeyGroupsStateHandle("timers", KeyGroupRange(0, 3)),),
    )
    record_state(TaskTrace(3, TaskClock(7), facts), 1, 9, StoredAction.RESTORED, state, streams)

    def row(seq: int, kind: StoredKind, name: str, group: int, *entries: object) -> tuple[int, ...]:
        total = wrapped(sum(fingerprint(None, entry) for entry in entries))
        return seq, 3, 1, 7, 9, StoredAction.RESTORED, kind, fingerprint(None, name), group, len(entries), total

    assert facts.rows(STORED_STATE.name) == [
        row(0, StoredKind.KEYED_STATE, "count", 1, (None, "a", 5), (None, "b", 6)),
        row(1, StoredKind.EVENT_TIME_TIMERS, "window", 1, (100, "a", (0, 100))),
        row(2, StoredKind.LIST, "splits", -1, "s0", "s1"),
        row(3, StoredKind.BROADCAST, "rules", -1, ("k", 1), ("l", 2)),
    ]
    names = [value for _, _, value in facts.static_rows("record_values")]
    assert {'"count"', '"window"', '"splits"', '"rules"'} <= {str(name) for name in names}
