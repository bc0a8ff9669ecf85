"""The checkpoints of a task from its start to its end. Flink: StreamTask."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from flowsim.errors import FlowsimError, InvariantViolation
from flowsim.mailbox.mail import MailOptions
from flowsim.network.checkpointing.checkpoint_barrier_handler import CheckpointBarrierHandler
from flowsim.network.checkpointing.checkpoint_metrics import Alignment, CheckpointMetaData, CheckpointMetrics
from flowsim.network.checkpointing.checkpointable import Clock
from flowsim.network.completion import Completion
from flowsim.state.redistribution.channel_state_handles import InputChannelInfo
from flowsim.streamrecord.checkpoint_exception import CheckpointException, CheckpointFailureReason
from flowsim.streamrecord.checkpoint_options import CheckpointOptions
from flowsim.streamrecord.events import CancelCheckpointMarker, CheckpointBarrier
from flowsim.tasks.checkpointing.async_checkpoint_runnable import CheckpointedTask, TaskStateManager
from flowsim.tasks.checkpointing.operator_chain_checkpoints import CheckpointedOutputs
from flowsim.tasks.checkpointing.subtask_checkpoint_coordinator import SubtaskCheckpointCoordinator
from flowsim.units import NS_PER_MS


class CheckpointFailed(FlowsimError):
    """A checkpoint failed in the task, which fails with it (rule 12.7); the cause is the error."""


class StopWithSavepointFailed(FlowsimError):
    """The savepoint of a stop was aborted, so the task fails (rules 12.71, 12.94)."""


class MailExecutor(Protocol):
    """Enqueues mails of the task. Flink: MailboxExecutor."""

    def execute(
        self, command: Callable[[], None], description: str, options: MailOptions = MailOptions.DEFAULT
    ) -> None: ...


class TaskInputs(Protocol):
    """All input gates of the task."""

    def unfinished_channels(self) -> Sequence[InputChannelInfo]:
        """Returns the channels that have not ended, in the order of gates; none for a source."""


class StreamTaskCheckpoints:
    """Triggers, performs, aborts and confirms checkpoints; decides when a task may end. Flink: StreamTask.

    ``main_mails`` has the priority of the task, ``notification_mails`` the highest one (rule 12.69).
    ``handler``: None for a source. ``restored_checkpoint_id``: -1 if nothing was restored.
    """

    def __init__(
        self,
        name: str,
        coordinator: SubtaskCheckpointCoordinator,
        outputs: CheckpointedOutputs,
        inputs: TaskInputs,
        manager: TaskStateManager,
        task: CheckpointedTask,
        main_mails: MailExecutor,
        notification_mails: MailExecutor,
        clock: Clock,
        *,
        restored_checkpoint_id: int,
        checkpoints_after_tasks_finish: bool,
    ) -> None:
        self.handler: CheckpointBarrierHandler | None = None
        self.synchronous_savepoint_id: int | None = None
        self.final_checkpoint_min_id: int | None = None
        """The first checkpoint after the end of data; None before it (rule 4.16)."""
        self.final_checkpoint_completed: Completion[None] = Completion()
        self._name = name
        self._coordinator = coordinator
        self._outputs = outputs
        self._inputs = inputs
        self._manager = manager
        self._task = task
        self._main_mails = main_mails
        self._notification_mails = notification_mails
        self._clock = clock
        self._latest_reported_id = restored_checkpoint_id
        self._checkpoints_after_tasks_finish = checkpoints_after_tasks_finish
        self._operators_finished = False
        self._end_of_data_received = False

    # Calls of the coordinator of the job.

    def trigger_checkpoint(self, meta_data: CheckpointMetaData, options: CheckpointOptions) -> None:
        """Enqueues a trigger, which is urgent for an unaligned checkpoint (rule 12.72)."""
        mail = MailOptions.URGENT if options.is_unaligned_checkpoint else MailOptions.DEFAULT
        self._main_mails.execute(
            lambda: self._trigger_in_mailbox(meta_data, options), f"checkpoint {meta_data.checkpoint_id}", mail
        )

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """Enqueues the notification that a checkpoint is complete."""
        self._notify(lambda: self._complete(checkpoint_id), f"checkpoint {checkpoint_id} complete")

    def notify_checkpoint_aborted(self, checkpoint_id: int, latest_completed_id: int) -> None:
        """Enqueues the notification of an abort; ``latest_completed_id`` makes up for a lost one (rule 12.4)."""
        self._notify(lambda: self._abort(checkpoint_id, latest_completed_id), f"checkpoint {checkpoint_id} aborted")

    def notify_checkpoint_subsumed(self, checkpoint_id: int) -> None:
        """Enqueues the notification that a newer checkpoint replaced this one."""
        self._notify(
            lambda: self._coordinator.notify_checkpoint_subsumed(checkpoint_id), f"checkpoint {checkpoint_id} subsumed"
        )

    # Calls of the barrier handler.

    def trigger_checkpoint_on_barrier(
        self, meta_data: CheckpointMetaData, options: CheckpointOptions, metrics: CheckpointMetrics
    ) -> None:
        """Takes the checkpoint, or sends a cancellation marker if the task is not running (rule 12.70)."""
        try:
            self._perform(meta_data, options, metrics)
        except Exception as error:
            raise self._failure(meta_data) from error

    def abort_checkpoint_on_barrier(self, checkpoint_id: int, cause: CheckpointException) -> None:
        """Declines the checkpoint. Raises StopWithSavepointFailed for the savepoint of a stop (rule 12.71)."""
        self._check_stop(checkpoint_id)
        self._coordinator.abort_checkpoint_on_barrier(checkpoint_id, cause)

    # Calls of the task.

    def on_operators_finished(self) -> None:
        """Called after ``finish`` of the operators; later acknowledgements report it (rule 12.8)."""
        self._operators_finished = True

    def on_end_of_data(self) -> None:
        """Called after EndOfData left the task; the next checkpoint may be the final one (rule 4.16)."""
        self._end_of_data_received = True

    def set_synchronous_savepoint(self, checkpoint_id: int) -> None:
        """Remembers the savepoint of a stop. Raises InvariantViolation for a second one."""
        if self.synchronous_savepoint_id not in (None, checkpoint_id):
            raise InvariantViolation("at most one stop-with-savepoint checkpoint at a time is allowed")
        self.synchronous_savepoint_id = checkpoint_id

    @property
    def waits_for_consumers(self) -> bool:
        """Returns True if the task may not end before its consumers have processed all records (rule 4.15)."""
        return self._end_of_data_received and self._checkpoints_after_tasks_finish

    @property
    def waits_for_final_checkpoint(self) -> bool:
        """Returns True if the task may not end before ``final_checkpoint_completed`` (rules 4.15, 12.94)."""
        is_required = self.waits_for_consumers or self.synchronous_savepoint_id is not None
        return is_required and not self.final_checkpoint_completed.is_done

    # Inside mails.

    def _trigger_in_mailbox(self, meta_data: CheckpointMetaData, options: CheckpointOptions) -> None:
        """Takes the checkpoint now, or lets the handler treat all open channels as aligned (rules 12.14, 12.72)."""
        unfinished = self._inputs.unfinished_channels()
        if not unfinished:
            self._trigger_now(meta_data, options)
            return
        if self.handler is None:
            raise InvariantViolation("CheckpointBarrier should exist for tasks with network inputs.")
        barrier = CheckpointBarrier(meta_data.checkpoint_id, meta_data.timestamp_ms, options)
        for channel in unfinished:
            self.handler.process_barrier(barrier, channel, is_rpc_triggered=True)

    def _trigger_now(self, meta_data: CheckpointMetaData, options: CheckpointOptions) -> None:
        start_delay_ms = max(0, self._clock.now_ns // NS_PER_MS - meta_data.timestamp_ms)
        metrics = CheckpointMetrics(Alignment(0, 0), start_delay_ms * NS_PER_MS)
        try:
            self._coordinator.init_inputs_checkpoint(meta_data.checkpoint_id, options)
            is_performed = self._perform(meta_data, options, metrics)
        except Exception as error:
            if self._task.is_running:
                raise self._failure(meta_data) from error
            return
        if not is_performed:
            reason = CheckpointFailureReason.CHECKPOINT_DECLINED_TASK_NOT_READY
            self._manager.decline_checkpoint(
                meta_data.checkpoint_id, CheckpointException(reason, f"Task Name {self._name}")
            )

    def _perform(self, meta_data: CheckpointMetaData, options: CheckpointOptions, metrics: CheckpointMetrics) -> bool:
        """Takes the checkpoint; returns False if the task is not running (rule 12.70)."""
        checkpoint_id = meta_data.checkpoint_id
        if not self._task.is_running:
            self._outputs.broadcast_event(CancelCheckpointMarker(checkpoint_id), is_priority=False)
            return False
        if options.snapshot_type.is_synchronous:
            self.set_synchronous_savepoint(checkpoint_id)
        is_final = self._checkpoints_after_tasks_finish and self._end_of_data_received
        if is_final and self.final_checkpoint_min_id is None:
            self.final_checkpoint_min_id = checkpoint_id
        self._coordinator.checkpoint_state(meta_data, options, metrics, is_task_finished=self._operators_finished)
        return True

    def _complete(self, checkpoint_id: int) -> None:
        """Notifies the operators, once and in order (rule 12.4); may let the task end (rule 4.16)."""
        if checkpoint_id <= self._latest_reported_id:
            return
        self._latest_reported_id = checkpoint_id
        self._coordinator.notify_checkpoint_complete(checkpoint_id)
        if not self._task.is_running:
            return
        if self.synchronous_savepoint_id is not None:
            is_final = checkpoint_id == self.synchronous_savepoint_id
        else:
            is_final = self.final_checkpoint_min_id is not None and checkpoint_id >= self.final_checkpoint_min_id
        if is_final:
            self.final_checkpoint_completed.complete(None)

    def _abort(self, checkpoint_id: int, latest_completed_id: int) -> None:
        if latest_completed_id > 0:
            self._complete(latest_completed_id)
        self._check_stop(checkpoint_id)
        self._coordinator.notify_checkpoint_aborted(checkpoint_id)

    def _check_stop(self, checkpoint_id: int) -> None:
        if checkpoint_id == self.synchronous_savepoint_id:
            raise StopWithSavepointFailed("Stop-with-savepoint failed.")

    def _notify(self, command: Callable[[], None], description: str) -> None:
        self._notification_mails.execute(command, description)

    def _failure(self, meta_data: CheckpointMetaData) -> CheckpointFailed:
        return CheckpointFailed(f"Could not perform checkpoint {meta_data.checkpoint_id} for operator {self._name}.")
