"""Notifies tasks and operator coordinators of the end of a checkpoint (rules 12.50, 12.54)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from flowsim.checkpoints.coordination.operator_coordinator_holder import OperatorCoordinatorHolder
from flowsim.checkpoints.main_thread_executor import MainThreadExecutor
from flowsim.checkpoints.pending_checkpoint import PendingCheckpoint

INVALID_CHECKPOINT_ID: Final = -1
"""No checkpoint was subsumed."""


class CheckpointNotifications:
    """Sends the notifications to the attempts that run now. Flink: CheckpointCoordinator.sendAcknowledgeMessages."""

    __slots__ = ("_main_thread", "_operator_coordinators")

    def __init__(
        self, main_thread: MainThreadExecutor, operator_coordinators: Sequence[OperatorCoordinatorHolder]
    ) -> None:
        self._main_thread = main_thread
        self._operator_coordinators = operator_coordinators

    def send_completed(self, checkpoint: PendingCheckpoint, last_subsumed_id: int) -> None:
        """Notifies the tasks, then the operator coordinators."""
        for task in checkpoint.plan.tasks_to_commit_to:
            attempt = task.current_execution_attempt
            if attempt is not None:
                attempt.notify_checkpoint_on_complete(
                    checkpoint.checkpoint_id, checkpoint.timestamp_ms, last_subsumed_id
                )
        for coordinator in self._operator_coordinators:
            coordinator.notify_checkpoint_complete(checkpoint.checkpoint_id)

    def send_aborted(self, checkpoint: PendingCheckpoint, latest_completed_id: int) -> None:
        """Notifies the operator coordinators, and the tasks in a turn of the main thread."""
        self._main_thread.execute(lambda: _notify_tasks_of_abort(checkpoint, latest_completed_id))
        for coordinator in self._operator_coordinators:
            coordinator.notify_checkpoint_aborted(checkpoint.checkpoint_id)


def _notify_tasks_of_abort(checkpoint: PendingCheckpoint, latest_completed_id: int) -> None:
    for task in checkpoint.plan.tasks_to_commit_to:
        attempt = task.current_execution_attempt
        if attempt is not None:
            attempt.notify_checkpoint_aborted(checkpoint.checkpoint_id, latest_completed_id, checkpoint.timestamp_ms)
