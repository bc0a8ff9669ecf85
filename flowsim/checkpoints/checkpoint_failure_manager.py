"""Which failed checkpoints fail the job. Flink: CheckpointFailureManager (rules 12.52, 12.53)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from flowsim.checkpoints.checkpoint_properties import CheckpointProperties
from flowsim.checkpoints.execution import ExecutionAttemptId
from flowsim.errors import FlowsimError
from flowsim.quantities import count_text
from flowsim.streamrecord.checkpoint_exception import CheckpointException, CheckpointFailureReason

UNLIMITED_TOLERABLE_FAILURE_NUMBER: Final = 2**31 - 1
"""No number of failed checkpoints fails the job."""

_COUNTED: Final = frozenset(
    {
        CheckpointFailureReason.IO_EXCEPTION,
        CheckpointFailureReason.CHECKPOINT_ASYNC_EXCEPTION,
        CheckpointFailureReason.CHECKPOINT_DECLINED,
        CheckpointFailureReason.CHECKPOINT_EXPIRED,
        CheckpointFailureReason.FINALIZE_CHECKPOINT_FAILURE,
    }
)
_NO_CHECKPOINT: Final = -(2**63)


class TolerableCheckpointFailuresExceeded(FlowsimError):
    """More checkpoints failed in a row than the job tolerates (rule 12.52)."""

    def __init__(self, tolerable: int, last: CheckpointException) -> None:
        super().__init__(
            f"Exceeded checkpoint tolerable failure threshold: more than {count_text(tolerable, 'checkpoint')} failed in a row, "
            f"the last one because: {last}"
        )
        self.__cause__ = last


class FailJobCallback(Protocol):
    """Fails the job.

    A Protocol, because this package does not know the job master. Flink: CheckpointFailureManager.FailJobCallback.
    """

    def fail_job(self, cause: FlowsimError) -> None:
        """Fails all tasks: a global failure."""
        ...

    def fail_job_due_to_task_failure(self, cause: FlowsimError, failing_task: ExecutionAttemptId) -> None:
        """Fails the task that declined the checkpoint."""
        ...


class CheckpointFailureManager:
    """Counts failed checkpoints since the last completed one, each once. Flink: CheckpointFailureManager.

    Invariant: the counter is at most ``tolerable_failures``, because the job fails at one more and starts anew.
    """

    __slots__ = (
        "_callback",
        "_counted_checkpoint_ids",
        "_failures",
        "_last_succeeded_checkpoint_id",
        "_tolerable_failures",
    )

    def __init__(self, tolerable_failures: int, callback: FailJobCallback) -> None:
        self._tolerable_failures = tolerable_failures
        self._callback = callback
        self._failures = 0
        self._counted_checkpoint_ids: set[int] = set()
        self._last_succeeded_checkpoint_id = _NO_CHECKPOINT

    def handle_checkpoint_exception(
        self,
        checkpoint_id: int | None,
        properties: CheckpointProperties,
        exception: CheckpointException,
        task: ExecutionAttemptId | None,
    ) -> None:
        """Handles a failed checkpoint.

        ``checkpoint_id`` is None if the trigger failed before there was one; ``task`` is the one that declined.
        """
        if task is None or exception.reason.is_preflight:
            # Rule 12.53: a failover does not help a savepoint that the job manager failed.
            if not properties.is_savepoint:
                self._count(checkpoint_id, exception, self._callback.fail_job)
        elif properties.is_synchronous:
            # Tasks that took the snapshot wait for its completion, which never comes.
            self._callback.fail_job(exception)
        else:
            failing_task = task
            self._count(
                checkpoint_id,
                exception,
                lambda cause: self._callback.fail_job_due_to_task_failure(cause, failing_task),
            )

    def handle_checkpoint_success(self, checkpoint_id: int) -> None:
        """Resets the counter, unless a newer checkpoint succeeded before."""
        if checkpoint_id > self._last_succeeded_checkpoint_id:
            self._last_succeeded_checkpoint_id = checkpoint_id
            self._clear()

    def _count(
        self, checkpoint_id: int | None, exception: CheckpointException, fail: Callable[[FlowsimError], None]
    ) -> None:
        if checkpoint_id is not None and checkpoint_id <= self._last_succeeded_checkpoint_id:
            return
        if self._tolerable_failures != UNLIMITED_TOLERABLE_FAILURE_NUMBER and exception.reason in _COUNTED:
            if checkpoint_id is None:
                self._failures += 1
            elif checkpoint_id not in self._counted_checkpoint_ids:
                self._counted_checkpoint_ids.add(checkpoint_id)
                self._failures += 1
        if self._failures > self._tolerable_failures:
            self._clear()
            fail(TolerableCheckpointFailuresExceeded(self._tolerable_failures, exception))

    def _clear(self) -> None:
        self._failures = 0
        self._counted_checkpoint_ids.clear()
