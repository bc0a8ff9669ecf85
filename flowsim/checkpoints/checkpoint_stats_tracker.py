"""Where the coordinator reports the course of checkpoints. Flink: CheckpointStatsTracker (rules 12.144, 12.145)."""

from __future__ import annotations

from flowsim.checkpoints.checkpoint_messages import AcknowledgeCheckpoint
from flowsim.checkpoints.pending_checkpoint import PendingCheckpoint
from flowsim.checkpoints.storage.completed_checkpoint import CompletedCheckpoint
from flowsim.streamrecord.checkpoint_exception import CheckpointException


class CheckpointStatsTracker:
    """Ignores all reports; a subclass counts or records them. Flink: CheckpointStatsTracker, NoOpCheckpointStatsTracker."""

    def report_pending_checkpoint(self, checkpoint: PendingCheckpoint) -> None:
        """The checkpoint has an id and a plan; finished tasks count as acknowledged."""

    def report_subtask(self, checkpoint: PendingCheckpoint, message: AcknowledgeCheckpoint) -> None:
        """A task has acknowledged a pending checkpoint."""

    def report_incomplete_stats(self, message: AcknowledgeCheckpoint) -> None:
        """A task has acknowledged a checkpoint that is no longer pending."""

    def report_completed_checkpoint(self, checkpoint: CompletedCheckpoint) -> None:
        """The checkpoint is complete."""

    def report_failed_checkpoint(self, checkpoint: PendingCheckpoint | None, exception: CheckpointException) -> None:
        """The checkpoint failed; None: the trigger failed before there was one."""

    def report_restored_checkpoint(self, checkpoint: CompletedCheckpoint) -> None:
        """Tasks are restored from the checkpoint."""
