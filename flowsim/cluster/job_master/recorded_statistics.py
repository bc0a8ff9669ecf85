"""Counts the checkpoints of a job and records them (tables checkpoints and stored_channels)."""

from __future__ import annotations

from flowsim.checkpoints.checkpoint_messages import AcknowledgeCheckpoint
from flowsim.checkpoints.checkpoint_properties import CheckpointProperties
from flowsim.checkpoints.checkpoint_stats_tracker import CheckpointStatsTracker
from flowsim.checkpoints.execution import ExecutionAttemptId
from flowsim.checkpoints.pending_checkpoint import PendingCheckpoint
from flowsim.checkpoints.storage.completed_checkpoint import CompletedCheckpoint
from flowsim.cluster.job_master.executions import JobExecutions
from flowsim.cluster.job_master.stored_channels import StoredChannels
from flowsim.facts.job_trace import JobTrace
from flowsim.facts.kinds import AlignmentType, CheckpointAction, CheckpointReason, SnapshotKind, StoredAction
from flowsim.graph.checkpoint_settings import CheckpointSettings
from flowsim.state.snapshots.stored_contents import size_of_states
from flowsim.state.snapshots.stored_streams import CheckpointStreams
from flowsim.streamrecord.checkpoint_exception import CheckpointException
from flowsim.streamrecord.checkpoint_options import CheckpointOptions, SnapshotType


class RecordedStatistics(CheckpointStatsTracker):
    """Records every report as a fact of the job's side."""

    def __init__(
        self,
        trace: JobTrace,
        executions: JobExecutions,
        streams: CheckpointStreams,
        settings: CheckpointSettings,
    ) -> None:
        super().__init__()
        self._trace = trace
        self._settings = settings
        self._streams = streams
        self._channels = StoredChannels(executions.vertices, streams)
        self._own: set[int] = set()
        """The checkpoints of this run."""
        self._tasks = {(subtask.job_vertex.id, subtask.subtask): subtask.id for subtask in executions.subtasks}

    def report_pending_checkpoint(self, checkpoint: PendingCheckpoint) -> None:
        super().report_pending_checkpoint(checkpoint)
        self._pending(checkpoint, CheckpointAction.TRIGGERED)

    def report_subtask(self, checkpoint: PendingCheckpoint, message: AcknowledgeCheckpoint) -> None:
        super().report_subtask(checkpoint, message)
        self._pending(checkpoint, CheckpointAction.ACKNOWLEDGED, task=self._task(message.attempt_id))

    def report_declined(self, checkpoint: PendingCheckpoint, attempt: ExecutionAttemptId, reason: str) -> None:
        """A task has declined a pending checkpoint."""
        self._pending(checkpoint, CheckpointAction.DECLINED, task=self._task(attempt), reason=CheckpointReason[reason])

    def report_completed_checkpoint(self, checkpoint: CompletedCheckpoint) -> None:
        super().report_completed_checkpoint(checkpoint)
        self._own.add(checkpoint.checkpoint_id)
        self._completed(checkpoint, CheckpointAction.COMPLETED)
        self._stored(checkpoint, StoredAction.STORED)

    def report_failed_checkpoint(self, checkpoint: PendingCheckpoint | None, exception: CheckpointException) -> None:
        super().report_failed_checkpoint(checkpoint, exception)
        reason = CheckpointReason[exception.reason.name]
        if checkpoint is None:
            self._trace.checkpoint(
                -1,
                CheckpointAction.REJECTED,
                SnapshotKind.CHECKPOINT,
                -1,
                -1,
                alignment=self._alignment(SnapshotType.CHECKPOINT),
                reason=reason,
            )
        else:
            self._pending(checkpoint, CheckpointAction.ABORTED, reason=reason)

    def report_restored_checkpoint(self, checkpoint: CompletedCheckpoint) -> None:
        super().report_restored_checkpoint(checkpoint)
        self._completed(checkpoint, CheckpointAction.RESTORED)
        if checkpoint.checkpoint_id != self._settings.without_channel_state_id:
            self._stored(checkpoint, StoredAction.RESTORED)

    def report_subsumed_checkpoint(self, checkpoint: CompletedCheckpoint) -> None:
        """A newer checkpoint has replaced this one."""
        self._completed(checkpoint, CheckpointAction.SUBSUMED)

    def is_of_another_run(self, checkpoint: CompletedCheckpoint) -> bool:
        """True if the checkpoint was not completed by this run."""
        return checkpoint.checkpoint_id not in self._own

    def _stored(self, checkpoint: CompletedCheckpoint, action: StoredAction) -> None:
        states = checkpoint.state.operator_states
        if any(each.has_channel_state for each in states.values()):
            for row in self._channels.rows(states):
                self._trace.stored_channel(checkpoint.checkpoint_id, action, *row)

    def _alignment(self, kind: SnapshotType) -> AlignmentType:
        settings = self._settings
        options = CheckpointOptions.for_config(
            kind,
            exactly_once=settings.exactly_once,
            unaligned_enabled=settings.unaligned,
            aligned_timeout_ms=settings.aligned_timeout_ms,
        )
        return AlignmentType[options.alignment.name]

    def _task(self, attempt: ExecutionAttemptId) -> int:
        return self._tasks[attempt.vertex_id, attempt.subtask]

    def _pending(
        self,
        checkpoint: PendingCheckpoint,
        action: CheckpointAction,
        *,
        task: int = -1,
        reason: CheckpointReason = CheckpointReason.NONE,
    ) -> None:
        plan = checkpoint.plan
        self._trace.checkpoint(
            checkpoint.checkpoint_id,
            action,
            _kind(checkpoint.properties),
            len(plan.tasks_to_wait_for) + len(plan.finished_tasks),
            len(checkpoint.acknowledged_tasks) + len(plan.finished_tasks),
            alignment=self._alignment(checkpoint.properties.snapshot_type),
            reason=reason,
            task=task,
        )

    def _completed(self, checkpoint: CompletedCheckpoint, action: CheckpointAction) -> None:
        states = [state for of in checkpoint.state.operator_states.values() for state in of.subtask_states.values()]
        is_foreign = action is CheckpointAction.RESTORED and self.is_of_another_run(checkpoint)
        described = sum(bool(each.contents) for each in states) if is_foreign else 0
        self._trace.checkpoint(
            checkpoint.checkpoint_id,
            action,
            _kind(checkpoint.properties),
            described or -1,
            -1,
            alignment=self._alignment(checkpoint.properties.snapshot_type),
            state_bytes=0 if action is CheckpointAction.SUBSUMED else size_of_states(states, self._streams),
        )


def _kind(properties: CheckpointProperties) -> SnapshotKind:
    return SnapshotKind[properties.snapshot_type.name]
