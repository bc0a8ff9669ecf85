"""The checkpoints, restores and restarts of a recording, read part by part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from flowsim.facts.checkpoint_tables import CHECKPOINT_METRICS, CHECKPOINT_STEPS, CHECKPOINTS, RESTARTS
from flowsim.facts.kinds import (
    AlignmentType,
    CheckpointAction,
    CheckpointReason,
    CheckpointStep,
    ElementKind,
    LifeEvent,
    RestartAction,
    SnapshotKind,
)
from flowsim.facts.schema import LIFECYCLE, RECEIVED, SENT, TASK_ATTEMPT
from flowsim.graph.alignment import AlignmentSettings
from flowsim.history.job_events import in_range, job_events, rows_of
from flowsim.laws.job_history import CheckpointEvent, RestartEvent
from flowsim.recording.reader import Recording
from flowsim.recording.recorded_file import damaged
from flowsim.units import NS_PER_MS

KEPT: Final = 10_000
"""The number of checkpoints, restores and failures that a history holds; older ones are only counted."""
_NO_CHECKPOINT: Final = np.iinfo(np.int64).min
_NO_TASK: Final = -1
_TABLES: Final = (CHECKPOINTS.name, RESTARTS.name)


@dataclass(slots=True)
class RecordedCheckpoint:
    """One checkpoint or savepoint, from its trigger on. Times are those of the facts."""

    checkpoint: int
    kind: SnapshotKind
    alignment: AlignmentType
    triggered_ns: int
    tasks: int
    """The subtasks that take part, with finished ones."""
    acknowledged: int
    """Those that have acknowledged it, with finished ones."""
    status: str = "in progress"
    reason: CheckpointReason = CheckpointReason.NONE
    """Why it failed."""
    acknowledged_at: dict[int, int] = field(default_factory=dict)
    """The times of the acknowledgements in ns, by task, the last one at the end."""
    ended_ns: int | None = None
    """Time of the completion or of the failure."""
    declined_by: int = -1
    """The task that declined it, -1: none."""
    completed_bytes: int = 0
    """The size of its state, as its completion records it."""
    state_bytes: int = 0
    processed_bytes: int = 0
    """Sizes of the data buffers that the subtasks processed during their alignment."""
    persisted_bytes: int = 0
    """Size of stored in-flight data."""
    restores: int = 0
    """How often tasks were restored from it in this run."""
    snapshots: int = 0
    """The subtasks that have begun their snapshot."""
    last_snapshots: int = 0
    """Those of them whose operators had finished: they wait for this checkpoint before they end (rule 4.15)."""
    early_snapshots: int = 0
    """Those of them that did not wait for the last barrier, although they align: the checkpoint timed out (rule 12.20)."""

    overtaken: int = 0
    """The elements that its barriers overtook after its timeout; they may do so although it was aborted before."""

    @property
    def is_final(self) -> bool:
        """True if all operators had finished before their snapshots: the job ends with this checkpoint."""
        return 0 < self.snapshots == self.last_snapshots

    @property
    def is_unaligned(self) -> bool:
        """True if its barriers were requested to overtake data, or did so after its timeout (rules 12.20, 12.142)."""
        timed_out = self.early_snapshots > 0 or self.persisted_bytes > 0 or self.overtaken > 0
        return self.alignment is AlignmentType.UNALIGNED or timed_out

    @property
    def end_to_end_ms(self) -> int | None:
        """From the trigger to the failure, or else to the last acknowledgement; None before both (rule 12.144)."""
        last_ns = next(reversed(self.acknowledged_at.values()), None)
        end_ns = self.ended_ns if self.status == "failed" else last_ns
        return None if end_ns is None else self.ms_until(end_ns)

    def ms_until(self, time_ns: int) -> int:
        """From the trigger to a time, in whole milliseconds of the clock, as in Flink."""
        return max(0, time_ns // NS_PER_MS - self.triggered_ns // NS_PER_MS)


class Restore(NamedTuple):
    """Tasks start with the state of a checkpoint."""

    time_ns: int
    checkpoint: int
    kind: SnapshotKind
    state_bytes: int


@dataclass(slots=True)
class RecordedFailure:
    """A failure, and the restart that followed."""

    failure: int
    time_ns: int
    task: int
    """-1: of no single task."""
    attempt: int
    delay_ms: int | None
    """None: the restart strategy allowed no restart."""
    restarted: int = 0
    """The number of restarted tasks."""
    restarted_ns: int | None = None
    restored: int = -1
    """The checkpoint from which they started, -1: none."""


@dataclass(slots=True)
class CheckpointHistory:
    """The history of a recording, in the order of the events."""

    kept: int = KEPT
    checkpoints: dict[int, RecordedCheckpoint] = field(default_factory=dict)
    restores: list[Restore] = field(default_factory=list)
    failures: dict[int, RecordedFailure] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    """Of all checkpoints: ``triggered``, ``completed``, ``failed`` with rejected ones, ``restored``; and ``failures``, those
    that allow a restart (``handled``), and ``restarts``."""
    last_completed: RecordedCheckpoint | None = None
    restarted_ns: int | None = None
    """Time of the last restart of a task."""
    rejected: Counter[str] = field(default_factory=Counter)
    """Triggers that failed before there was a checkpoint, by reason."""

    @property
    def in_progress(self) -> int:
        """Checkpoints that had not ended when the recording ended."""
        return max(0, self.counts["triggered"] - self.counts["completed"] - self.counts["aborted"])

    @property
    def oldest_in_progress(self) -> RecordedCheckpoint | None:
        """The first checkpoint that has not ended."""
        return next((one for one in self.checkpoints.values() if one.status == "in progress"), None)

    def add(self, event: CheckpointEvent | RestartEvent) -> None:
        """Adds an event; raises ValueError for a number that no run records."""
        if isinstance(event, CheckpointEvent):
            self._on_checkpoint(event)
        else:
            self._on_restart(event)

    def _on_checkpoint(self, event: CheckpointEvent) -> None:
        action, reason = CheckpointAction(event.action), CheckpointReason(event.reason)
        match action:
            case CheckpointAction.REJECTED:
                self.counts["failed"] += 1
                self.rejected[reason.name] += 1
                return
            case CheckpointAction.RESTORED:
                self.counts["restored"] += 1
                self.restores.append(
                    Restore(event.time_ns, event.checkpoint, SnapshotKind(event.type), event.state_bytes)
                )
                del self.restores[: -self.kept]
            case CheckpointAction.TRIGGERED:
                self.counts["triggered"] += 1
                self.checkpoints[event.checkpoint] = RecordedCheckpoint(
                    event.checkpoint,
                    SnapshotKind(event.type),
                    AlignmentType(event.alignment),
                    event.time_ns,
                    event.tasks,
                    event.acknowledged,
                )
                if len(self.checkpoints) > self.kept:
                    del self.checkpoints[next(iter(self.checkpoints))]
            case CheckpointAction.COMPLETED:
                self.counts["completed"] += 1
            case CheckpointAction.ABORTED:
                self.counts["failed"] += 1
                self.counts["aborted"] += 1
            case _:
                pass
        found = self.checkpoints.get(event.checkpoint)
        if found is not None:
            _update(found, event, action, reason)
            if action is CheckpointAction.COMPLETED:
                self.last_completed = found

    def _on_restart(self, event: RestartEvent) -> None:
        action = RestartAction(event.action)
        if action is RestartAction.RESTART:
            self.restarted_ns = event.time_ns
            found = self.failures.get(event.failure)
            if found is not None:
                if not found.restarted:
                    self.counts["restarts"] += 1
                found.restarted += 1
                found.restarted_ns = event.time_ns
                found.restored = max(found.restored, event.checkpoint)
            return
        self.counts["failures"] += 1
        self.counts["handled"] += action is RestartAction.FAILURE
        delay_ms = None if action is RestartAction.GIVE_UP else event.delay_ms
        self.failures[event.failure] = RecordedFailure(
            event.failure, event.time_ns, event.task_id, event.attempt, delay_ms
        )
        if len(self.failures) > self.kept:
            del self.failures[next(iter(self.failures))]


def _update(
    found: RecordedCheckpoint, event: CheckpointEvent, action: CheckpointAction, reason: CheckpointReason
) -> None:
    match action:
        case CheckpointAction.ACKNOWLEDGED:
            found.acknowledged, found.acknowledged_at[event.task_id] = event.acknowledged, event.time_ns
        case CheckpointAction.DECLINED:
            found.declined_by = event.task_id
        case CheckpointAction.COMPLETED:
            found.status, found.ended_ns, found.completed_bytes = "completed", event.time_ns, event.state_bytes
        case CheckpointAction.ABORTED:
            found.status, found.ended_ns, found.reason = "failed", event.time_ns, reason
        case CheckpointAction.RESTORED:
            found.restores += 1
        case _:
            pass


class SubtaskMeasurements(NamedTuple):
    """The measurements with which a subtask acknowledged a checkpoint (rule 12.142)."""

    task: int
    attempt: int
    acknowledged_ns: int | None
    """When the job's side had the acknowledgement; None: it did not count, because the checkpoint had ended."""
    start_delay_ns: int
    alignment_ns: int
    alignment_bytes: int
    persisted_bytes: int
    sync_ms: int
    async_ms: int
    state_bytes: int


def checkpoint_history(recording: Recording) -> CheckpointHistory:
    """Reads the history. Memory holds one part, and the last 10,000 checkpoints. Raises BadInput for damaged parts."""
    history, snapshots, overtakes = CheckpointHistory(), _Snapshots(), _Overtakes()
    settings = AlignmentSettings.recorded(recording.manifest.run.settings)
    tasks = {_NO_TASK, *(int(row[0]) for row in recording.static_rows("tasks"))}
    for epoch in range(len(recording.epochs)):
        for table, event in job_events(recording, epoch, _TABLES):
            if event.task_id not in tasks:
                raise damaged(recording.directory / table, f"there is no task {event.task_id}")
            in_range(recording, table, event, history.add)
        snapshots.read(recording, epoch, history)
        if settings is not None and settings.is_timeoutable:
            overtakes.read(recording, epoch, history)
    for checkpoint, measured in measured_bytes(recording).items():
        found = history.checkpoints.get(checkpoint)
        if found is not None:
            found.processed_bytes, found.persisted_bytes, found.state_bytes = measured
    return history


class MeasuredBytes(NamedTuple):
    """Sums of what the subtasks measured for a checkpoint."""

    processed: int
    """Sizes of the data buffers that they processed during their alignment."""
    persisted: int
    """Size of stored in-flight data."""
    state: int


def measured_bytes(recording: Recording) -> dict[int, MeasuredBytes]:
    """Returns the sums by checkpoint, of which a run may have more than a history holds."""
    sums: dict[int, MeasuredBytes] = {}
    columns = ("checkpoint", "alignment_bytes", "persisted_bytes", "state_bytes")
    for epoch in range(len(recording.epochs)):
        for checkpoint, *sizes in rows_of(recording.part(CHECKPOINT_METRICS.name, epoch, columns)):
            before = sums.get(checkpoint, _NOTHING)
            sums[checkpoint] = MeasuredBytes(*(one + more for one, more in zip(before, sizes, strict=True)))
    return sums


_NOTHING: Final = MeasuredBytes(0, 0, 0)


def subtasks_of(recording: Recording, checkpoint: RecordedCheckpoint) -> list[SubtaskMeasurements]:
    """Returns the measurements of one checkpoint, by task."""
    found: dict[int, SubtaskMeasurements] = {}
    tasks = {int(row[0]) for row in recording.static_rows("tasks")}
    columns = (
        "checkpoint", "task", TASK_ATTEMPT.name, "start_delay_ns", "alignment_ns", "alignment_bytes", "persisted_bytes",
        "sync_ms", "async_ms", "state_bytes",
    )  # fmt: skip
    for epoch in range(len(recording.epochs)):
        part = recording.part(CHECKPOINT_METRICS.name, epoch, columns)
        for _, task, attempt, *row in rows_of(_where(part, "checkpoint", checkpoint.checkpoint)):
            if task not in tasks:
                raise damaged(recording.directory / CHECKPOINT_METRICS.name, f"there is no task {task}")
            found[task] = SubtaskMeasurements(task, attempt, checkpoint.acknowledged_at.get(task), *row)
    return [one for _, one in sorted(found.items())]


def _where(rows: pa.Table, column: str, *values: int) -> pa.Table:
    """Returns the rows that have one of these values."""
    import pyarrow.compute as pc  # takes 0.05 s, and most runs have no checkpoint

    return rows.filter(pc.is_in(rows[column], pa.array(values, rows[column].type)))


_ALIGNING: Final = (CheckpointStep.ALIGNMENT_START, CheckpointStep.ALIGNMENT_END, CheckpointStep.SYNC_START)


class _Snapshots:
    """Counts snapshots: those after the operators of the task had finished, and those before its last barrier."""

    def __init__(self) -> None:
        self._finished: dict[int, int] = {}
        """By task: the last attempt whose operators have finished."""
        self._aligning: dict[int, tuple[int, int]] = {}
        """By task: the attempt and the checkpoint whose first barrier came, but not its last."""

    def read(self, recording: Recording, epoch: int, history: CheckpointHistory) -> None:
        steps = recording.part(CHECKPOINT_STEPS.name, epoch, ("task", "seq", TASK_ATTEMPT.name, "step", "checkpoint"))
        life = recording.part(LIFECYCLE.name, epoch, ("task", "seq", TASK_ATTEMPT.name, "event"))
        steps = _where(steps, "step", *map(int, _ALIGNING))
        finished = _where(life, "event", int(LifeEvent.FINISH)).drop_columns("event")
        finished = finished.append_column("checkpoint", pa.array(np.full(len(finished), _NO_CHECKPOINT)))
        both = pa.concat_tables([steps, finished], promote_options="permissive")
        both = both.select(["task", TASK_ATTEMPT.name, "step", "checkpoint", "seq"])
        for task, attempt, step, checkpoint, _ in rows_of(both.sort_by([("task", "ascending"), ("seq", "ascending")])):
            found = history.checkpoints.get(checkpoint)
            if checkpoint == _NO_CHECKPOINT:
                self._finished[task] = attempt
            elif found is not None:
                self._add(task, attempt, step, found)

    def _add(self, task: int, attempt: int, step: int, found: RecordedCheckpoint) -> None:
        match CheckpointStep(step):
            case CheckpointStep.ALIGNMENT_START:
                self._aligning[task] = attempt, found.checkpoint
            case CheckpointStep.ALIGNMENT_END:
                self._aligning.pop(task, None)
            case _:
                found.snapshots += 1
                found.last_snapshots += self._finished.get(task) == attempt
                is_aligned = found.alignment is AlignmentType.ALIGNED
                found.early_snapshots += is_aligned and self._aligning.get(task) == (attempt, found.checkpoint)


class _Overtakes:
    """Counts the elements that barriers overtook, from the positions of each barrier at both ends of its channel."""

    def __init__(self) -> None:
        self._written: dict[tuple[int, int], int] = {}
        """By checkpoint and channel: the number of elements before a barrier that has not been read yet."""

    def read(self, recording: Recording, epoch: int, history: CheckpointHistory) -> None:
        for checkpoint, channel, position in self._barriers(recording, SENT.name, epoch):
            self._written[checkpoint, channel] = position
        for checkpoint, channel, position in self._barriers(recording, RECEIVED.name, epoch):
            found, written = history.checkpoints.get(checkpoint), self._written.pop((checkpoint, channel), position)
            if found is not None and found.alignment is AlignmentType.ALIGNED:
                found.overtaken += written - position

    @staticmethod
    def _barriers(recording: Recording, table: str, epoch: int) -> Iterator[Sequence[int]]:
        part = recording.part(table, epoch, ("timestamp", "channel", "position", "kind"))
        return rows_of(_where(part, "kind", int(ElementKind.UNALIGNED_BARRIER)).drop_columns("kind"))
