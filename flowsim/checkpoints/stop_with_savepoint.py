"""Stops a job with a savepoint. Flink: StopWithSavepointTerminationManager, StopWithSavepointTerminationHandlerImpl."""

from __future__ import annotations

from typing import Protocol

from flowsim.checkpoints.checkpoint_coordinator import CheckpointCoordinator
from flowsim.checkpoints.main_thread_executor import MainThreadExecutor
from flowsim.checkpoints.storage.completed_checkpoint import CompletedCheckpoint
from flowsim.errors import FlowsimError, InvariantViolation, SuppressRestarts
from flowsim.network.completion import Completion
from flowsim.streamrecord.checkpoint_exception import CheckpointException, CheckpointFailureReason


class StopWithSavepointStopping(SuppressRestarts):
    """The savepoint is complete, but a task did not finish: the job fails. Flink: StopWithSavepointStoppingException."""

    def __init__(self, savepoint: str) -> None:
        super().__init__(
            f"A savepoint has been created at: {savepoint}, but the corresponding job failed during stopping. The savepoint "
            "is consistent, but might have uncommitted side effects. If you want to commit side effects, restart the job "
            "from the savepoint and stop it again."
        )


class StoppedJob(Protocol):
    """What stopping needs of the job.

    A Protocol, because this package does not know the job master. Flink: SchedulerNG.
    """

    @property
    def has_blocking_output(self) -> bool:
        """True if an edge of the job is blocking, which a savepoint cannot pass."""
        ...

    def when_all_tasks_end(self) -> Completion[bool]:
        """Done when the current attempts have ended; the result is True if all of them finished."""
        ...

    def handle_global_failure(self, cause: FlowsimError) -> None:
        """Restarts the job, or fails it if the failure suppresses restarts."""
        ...


class StopWithSavepoint:
    """One stop: the savepoint first, then the end of the tasks (rule 12.138).

    Flink: StopWithSavepointTerminationManager, StopWithSavepointTerminationHandlerImpl.
    """

    __slots__ = ("_coordinator", "_job", "_main_thread", "_result")

    def __init__(self, coordinator: CheckpointCoordinator, job: StoppedJob, main_thread: MainThreadExecutor) -> None:
        self._coordinator = coordinator
        self._job = job
        self._main_thread = main_thread
        self._result: Completion[CompletedCheckpoint] = Completion()

    def stop(self, *, drain: bool, target_location: str | None = None) -> Completion[CompletedCheckpoint]:
        """Triggers the savepoint; the result is done when the job has ended, or goes on after an error.

        ``drain`` fires all event-time timers first (rule 12.139).
        """
        if self._job.has_blocking_output:
            self._result.complete_exceptionally(CheckpointException(CheckpointFailureReason.BLOCKING_OUTPUT_EXIST))
            return self._result
        # Only the savepoint may still commit.
        self._coordinator.stop_checkpoint_scheduler()
        tasks_end = self._job.when_all_tasks_end()
        savepoint = self._coordinator.trigger_synchronous_savepoint(drain, target_location)
        savepoint.when_complete(
            lambda completed, error: self._main_thread.execute(lambda: self._on_savepoint(tasks_end, completed, error))
        )
        return self._result

    def _on_savepoint(
        self, tasks_end: Completion[bool], savepoint: CompletedCheckpoint | None, error: Exception | None
    ) -> None:
        if error is not None:
            # The job goes on.
            self._coordinator.start_checkpoint_scheduler_if_configured()
            self._result.complete_exceptionally(error)
        elif savepoint is not None:
            completed = savepoint
            tasks_end.when_complete(
                lambda all_finished, _: self._main_thread.execute(
                    lambda: self._on_tasks_ended(completed, all_finished=all_finished is True)
                )
            )
        else:
            raise InvariantViolation("the savepoint has neither a result nor an error")

    def _on_tasks_ended(self, savepoint: CompletedCheckpoint, *, all_finished: bool) -> None:
        if all_finished:
            self._result.complete(savepoint)
        else:
            failure = StopWithSavepointStopping(savepoint.location.external_pointer)
            self._job.handle_global_failure(failure)
            self._result.complete_exceptionally(failure)
