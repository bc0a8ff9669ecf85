"""Why a checkpoint failed. Flink: CheckpointException, CheckpointFailureReason (rule 12.52)."""

from __future__ import annotations

from enum import Enum

from flowsim.errors import FlowsimError


class CheckpointFailureReason(Enum):
    """The reason and its text. Flink: CheckpointFailureReason."""

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
    def is_pre_flight(self) -> bool:
        """True if the checkpoint failed before any task could take part in it (rule 12.53)."""
        return self in _PRE_FLIGHT


_PRE_FLIGHT = frozenset(
    {
        CheckpointFailureReason.PERIODIC_SCHEDULER_SHUTDOWN,
        CheckpointFailureReason.TOO_MANY_CHECKPOINT_REQUESTS,
        CheckpointFailureReason.MINIMUM_TIME_BETWEEN_CHECKPOINTS,
        CheckpointFailureReason.NOT_ALL_REQUIRED_TASKS_RUNNING,
        CheckpointFailureReason.IO_EXCEPTION,
        CheckpointFailureReason.BLOCKING_OUTPUT_EXIST,
    }
)


class CheckpointException(FlowsimError):
    """A checkpoint failed. Flink: CheckpointException."""

    def __init__(self, reason: CheckpointFailureReason, cause: BaseException | None = None) -> None:
        super().__init__(reason.value if cause is None else f"{reason.value} {cause}")
        self.reason = reason
        self.__cause__ = cause


class TolerableCheckpointFailuresExceeded(FlowsimError):
    """More checkpoints failed in a row than the job tolerates (rule 12.52)."""

    def __init__(self, tolerable: int, last: CheckpointException) -> None:
        super().__init__(
            f"Exceeded checkpoint tolerable failure threshold: more than {tolerable} checkpoints failed in a row, "
            f"the last one because: {last}"
        )
        self.__cause__ = last


def checkpoint_exception_of(error: BaseException, default: CheckpointFailureReason) -> CheckpointException:
    """Returns the failure that an error of a trigger means: an input or output error, whatever wraps it, is one."""
    causes: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None:
        causes.append(cause)
        cause = cause.__cause__
    if any(isinstance(each, OSError) for each in causes):
        return CheckpointException(CheckpointFailureReason.IO_EXCEPTION, error)
    known = next((each for each in causes if isinstance(each, CheckpointException)), None)
    return known or CheckpointException(default, error)
