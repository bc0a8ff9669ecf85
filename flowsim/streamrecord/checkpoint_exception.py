"""Why a checkpoint fails. Flink: CheckpointException, CheckpointFailureReason."""

from __future__ import annotations

from enum import Enum

from flowsim.errors import FlowsimError


class CheckpointFailureReason(Enum):
    """The reason of a failed checkpoint; the value is Flink's message. Flink: CheckpointFailureReason."""

    PERIODIC_SCHEDULER_SHUTDOWN = "Periodic checkpoint scheduler is shut down."
    TOO_MANY_CHECKPOINT_REQUESTS = "The maximum number of queued checkpoint requests exceeded"
    MINIMUM_TIME_BETWEEN_CHECKPOINTS = (
        "The minimum time between checkpoints is still pending. Checkpoint will be triggered after the minimum time."
    )
    NOT_ALL_REQUIRED_TASKS_RUNNING = "Not all required tasks are currently running."
    IO_EXCEPTION = "An Exception occurred while triggering the checkpoint. IO-problem detected."
    BLOCKING_OUTPUT_EXIST = "Blocking output edge exists in running tasks."
    CHECKPOINT_ASYNC_EXCEPTION = "Asynchronous task checkpoint failed."
    CHANNEL_STATE_SHARED_STREAM_EXCEPTION = (
        "The checkpoint was aborted due to exception of other subtasks sharing the ChannelState file."
    )
    CHECKPOINT_EXPIRED = "Checkpoint expired before completing."
    CHECKPOINT_SUBSUMED = "Checkpoint has been subsumed."
    CHECKPOINT_DECLINED = "Checkpoint was declined."
    CHECKPOINT_DECLINED_TASK_NOT_READY = "Checkpoint was declined (tasks not ready)"
    CHECKPOINT_DECLINED_TASK_CLOSING = "Checkpoint was declined (task is closing)"
    CHECKPOINT_DECLINED_SUBSUMED = "Checkpoint was canceled because a barrier from newer checkpoint was received."
    CHECKPOINT_DECLINED_ON_CANCELLATION_BARRIER = "Task received cancellation from one of its inputs"
    CHECKPOINT_DECLINED_INPUT_END_OF_STREAM = "Checkpoint was declined because one input stream is finished"
    CHECKPOINT_COORDINATOR_SHUTDOWN = "CheckpointCoordinator shutdown."
    CHECKPOINT_COORDINATOR_SUSPEND = "Checkpoint Coordinator is suspending."
    JOB_FAILOVER_REGION = "FailoverRegion is restarting."
    TASK_FAILURE = "Task has failed."
    TASK_CHECKPOINT_FAILURE = "Task local checkpoint failure."
    UNKNOWN_TASK_CHECKPOINT_NOTIFICATION_FAILURE = "Unknown task for the checkpoint to notify."
    FINALIZE_CHECKPOINT_FAILURE = "Failure to finalize checkpoint."
    TRIGGER_CHECKPOINT_FAILURE = "Trigger checkpoint failure."

    @property
    def is_preflight(self) -> bool:
        """Returns True for a failure before a pending checkpoint exists (rule 12.53)."""
        return self in _PREFLIGHT


_PREFLIGHT = (
    CheckpointFailureReason.PERIODIC_SCHEDULER_SHUTDOWN,
    CheckpointFailureReason.TOO_MANY_CHECKPOINT_REQUESTS,
    CheckpointFailureReason.MINIMUM_TIME_BETWEEN_CHECKPOINTS,
    CheckpointFailureReason.NOT_ALL_REQUIRED_TASKS_RUNNING,
    CheckpointFailureReason.IO_EXCEPTION,
    CheckpointFailureReason.BLOCKING_OUTPUT_EXIST,
)


class CheckpointException(FlowsimError):
    """A checkpoint failed for ``reason``. Flink: CheckpointException."""

    def __init__(self, reason: CheckpointFailureReason, message: str = "") -> None:
        text = f"{message} Failure reason: {reason.value}" if message else reason.value
        super().__init__(text)
        self.reason = reason
