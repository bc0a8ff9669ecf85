"""Counts the checkpoints of a job (rule 12.145).

What Flink's history says of each checkpoint is computed from recorded facts, by ``flowsim.history.checkpoints``.
"""

from __future__ import annotations

from dataclasses import dataclass

from flowsim.checkpoints.checkpoint_messages import AcknowledgeCheckpoint
from flowsim.checkpoints.pending_checkpoint import PendingCheckpoint
from flowsim.checkpoints.storage.completed_checkpoint import CompletedCheckpoint
from flowsim.streamrecord.checkpoint_exception import CheckpointException


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


class CheckpointStatsTracker:
    """Counts what the coordinator reports; a subclass also records it. Flink: DefaultCheckpointStatsTracker."""

    def __init__(self) -> None:
        self.counts: CheckpointStatsCounts = CheckpointStatsCounts()

    def report_pending_checkpoint(self, checkpoint: PendingCheckpoint) -> None:
        """The checkpoint has an id and a plan; finished tasks count as acknowledged."""
        self.counts.in_progress += 1

    def report_subtask(self, checkpoint: PendingCheckpoint, message: AcknowledgeCheckpoint) -> None:
        """A task has acknowledged a pending checkpoint."""

    def report_completed_checkpoint(self, checkpoint: CompletedCheckpoint) -> None:
        """The checkpoint is complete."""
        self.counts.in_progress -= 1
        self.counts.completed += 1

    def report_failed_checkpoint(self, checkpoint: PendingCheckpoint | None, exception: CheckpointException) -> None:
        """The checkpoint failed; None: the trigger failed before there was one."""
        self.counts.failed += 1
        if checkpoint is not None:
            self.counts.in_progress -= 1

    def report_restored_checkpoint(self, checkpoint: CompletedCheckpoint) -> None:
        """Tasks are restored from the checkpoint."""
        self.counts.restored += 1
