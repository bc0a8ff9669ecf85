"""Statistics of checkpoints as the web interface of Flink shows them (rules 12.142-12.145).

Flink: DefaultCheckpointStatsTracker, CheckpointStatsHistory, CheckpointStatsCounts, SubtaskStateStats.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from flowsim.checkpoints.checkpoint_messages import AcknowledgeCheckpoint
from flowsim.checkpoints.checkpoint_properties import CheckpointProperties
from flowsim.checkpoints.checkpoint_stats_tracker import CheckpointStatsTracker
from flowsim.checkpoints.main_thread_executor import MainThreadExecutor
from flowsim.checkpoints.pending_checkpoint import PendingCheckpoint
from flowsim.checkpoints.storage.completed_checkpoint import CompletedCheckpoint
from flowsim.network.checkpointing.checkpoint_metrics import CheckpointMetrics
from flowsim.streamrecord.checkpoint_exception import CheckpointException, CheckpointFailureReason

DEFAULT_HISTORY_SIZE: Final = 10


class CheckpointStatsStatus(Enum):
    """Flink: CheckpointStatsStatus."""

    IN_PROGRESS = "IN_PROGRESS"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"


@dataclass(slots=True)
class CheckpointStatsCounts:
    """Numbers of checkpoints since the start of the job. Flink: CheckpointStatsCounts."""

    restored: int = 0
    """Number of restores from a checkpoint or savepoint."""
    in_progress: int = 0
    completed: int = 0
    """With savepoints."""
    failed: int = 0
    """With those whose trigger failed before there was a pending checkpoint."""

    @property
    def total(self) -> int:
        """All that were triggered."""
        return self.in_progress + self.completed + self.failed


@dataclass(frozen=True, slots=True)
class SubtaskCheckpointStats:
    """The acknowledgement of one subtask. Flink: SubtaskStateStats."""

    vertex_id: int
    subtask: int
    ack_timestamp_ms: int
    metrics: CheckpointMetrics | None
    """None: the subtask had finished, and counts as acknowledged at the trigger."""


@dataclass(slots=True)
class CheckpointStats:
    """One checkpoint. Flink: AbstractCheckpointStats."""

    checkpoint_id: int
    trigger_timestamp_ms: int
    properties: CheckpointProperties
    subtask_count: int
    """The subtasks that take part, with finished ones."""
    subtasks: list[SubtaskCheckpointStats] = field(default_factory=list)
    """Those that have acknowledged, in this order."""
    status: CheckpointStatsStatus = CheckpointStatsStatus.IN_PROGRESS
    failure: CheckpointFailureReason | None = None
    failure_timestamp_ms: int | None = None

    @property
    def end_to_end_duration_ms(self) -> int | None:
        """From the trigger to the failure, or else to the last acknowledgement; None before both."""
        end_ms = self.failure_timestamp_ms
        if end_ms is None:
            end_ms = max((subtask.ack_timestamp_ms for subtask in self.subtasks), default=None)
        return None if end_ms is None else max(0, end_ms - self.trigger_timestamp_ms)

    def end_to_end_duration_of(self, subtask: SubtaskCheckpointStats) -> int:
        """Returns the time from the trigger to the acknowledgement of a subtask, in ms."""
        return max(0, subtask.ack_timestamp_ms - self.trigger_timestamp_ms)


class CheckpointStatistics(CheckpointStatsTracker):
    """Counts checkpoints and keeps the statistics of the last ones.

    Flink: DefaultCheckpointStatsTracker, CheckpointStatsHistory.
    """

    def __init__(self, main_thread: MainThreadExecutor, history_size: int = DEFAULT_HISTORY_SIZE) -> None:
        self.counts: CheckpointStatsCounts = CheckpointStatsCounts()
        self.history: dict[int, CheckpointStats] = {}
        """By id, in the order of the triggers; the oldest ones leave when others begin."""
        self.latest_restored: CompletedCheckpoint | None = None
        self._main_thread = main_thread
        self._history_size = history_size

    def report_pending_checkpoint(self, checkpoint: PendingCheckpoint) -> None:
        plan = checkpoint.plan
        stats = CheckpointStats(
            checkpoint.checkpoint_id,
            checkpoint.timestamp_ms,
            checkpoint.properties,
            len(plan.tasks_to_wait_for) + len(plan.finished_tasks),
        )
        now_ms = self._main_thread.now_ms
        for task in plan.finished_tasks:
            attempt = task.attempt_id
            stats.subtasks.append(SubtaskCheckpointStats(attempt.vertex_id, attempt.subtask, now_ms, None))
        self.history[checkpoint.checkpoint_id] = stats
        self.counts.in_progress += 1
        while len(self.history) > self._history_size:
            del self.history[next(iter(self.history))]

    def report_subtask(self, checkpoint: PendingCheckpoint, message: AcknowledgeCheckpoint) -> None:
        self._add(message)

    def report_incomplete_stats(self, message: AcknowledgeCheckpoint) -> None:
        self._add(message)

    def report_completed_checkpoint(self, checkpoint: CompletedCheckpoint) -> None:
        self.counts.in_progress -= 1
        self.counts.completed += 1
        stats = self.history.get(checkpoint.checkpoint_id)
        if stats is not None:
            stats.status = CheckpointStatsStatus.COMPLETED

    def report_failed_checkpoint(self, checkpoint: PendingCheckpoint | None, exception: CheckpointException) -> None:
        self.counts.failed += 1
        if checkpoint is None:
            return
        self.counts.in_progress -= 1
        stats = self.history.get(checkpoint.checkpoint_id)
        if stats is not None:
            stats.status = CheckpointStatsStatus.FAILED
            stats.failure = exception.reason
            stats.failure_timestamp_ms = self._main_thread.now_ms

    def report_restored_checkpoint(self, checkpoint: CompletedCheckpoint) -> None:
        self.counts.restored += 1
        self.latest_restored = checkpoint

    def _add(self, message: AcknowledgeCheckpoint) -> None:
        stats = self.history.get(message.checkpoint_id)
        if stats is not None:
            attempt = message.attempt_id
            now_ms = self._main_thread.now_ms
            stats.subtasks.append(SubtaskCheckpointStats(attempt.vertex_id, attempt.subtask, now_ms, message.metrics))
