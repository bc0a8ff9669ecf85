"""The client of a job that ``execute_async`` ran. PyFlink: JobClient, JobStatus, CompletableFuture."""

from __future__ import annotations

from enum import Enum
from typing import Generic, NoReturn, TypeVar, cast

from flowsim.cluster import job_status
from flowsim.cluster.job_execution import JobExecutionResult
from flowsim.cluster.job_id import JobID
from flowsim.errors import BadInput, FlowsimError, JobFailed

T = TypeVar("T")


class JobStatus(Enum):
    """The state of a job. PyFlink: JobStatus."""

    CREATED = 0
    RUNNING = 1
    FAILING = 2
    FAILED = 3
    CANCELLING = 4
    CANCELED = 5
    FINISHED = 6
    RESTARTING = 7
    SUSPENDED = 8
    RECONCILING = 9

    def is_globally_terminal_state(self) -> bool:
        """Returns True for a state after which no cluster continues the job."""
        return self in (JobStatus.FAILED, JobStatus.CANCELED, JobStatus.FINISHED)

    def is_terminal_state(self) -> bool:
        """Returns True for a state after which its cluster does not continue the job."""
        return self is JobStatus.SUSPENDED or self.is_globally_terminal_state()


_STATUS_OF_RUN = {
    job_status.JobStatus.FINISHED: JobStatus.FINISHED,
    job_status.JobStatus.FAILED: JobStatus.FAILED,
    job_status.JobStatus.CANCELED: JobStatus.CANCELED,
    # On a cluster these jobs would go on.
    job_status.JobStatus.STOPPED: JobStatus.RUNNING,
    job_status.JobStatus.DEADLOCKED: JobStatus.RUNNING,
}


class CompletableFuture(Generic[T]):
    """A result that is there, or the error in its place. PyFlink: CompletableFuture."""

    def __init__(self, outcome: T | Exception) -> None:
        self._outcome = outcome

    def cancel(self) -> bool:
        """Returns False: the future is completed."""
        return False

    def cancelled(self) -> bool:
        """Returns False, as ``cancel``."""
        return False

    def done(self) -> bool:
        """Returns True."""
        return True

    def result(self) -> T:
        """Returns the result, or raises the error."""
        if isinstance(self._outcome, Exception):
            raise self._outcome
        return self._outcome

    def exception(self) -> Exception | None:
        """Returns the error; None if there is a result."""
        return self._outcome if isinstance(self._outcome, Exception) else None


class JobClient:
    """The client of a job that has run. PyFlink: JobClient.

    A job that was stopped because it had nothing left to do, or at ``until``, is running for its client until it cancels
    the job, as on a cluster.
    """

    def __init__(self, job_name: str, outcome: JobExecutionResult | FlowsimError) -> None:
        self._job_id = JobID.of(job_name)
        self._outcome = outcome
        if isinstance(outcome, JobExecutionResult):
            self._status = _STATUS_OF_RUN[outcome.status]
        else:
            self._status = JobStatus.FAILED if isinstance(outcome, JobFailed) else JobStatus.RUNNING

    def get_job_id(self) -> JobID:
        return self._job_id

    def get_job_status(self) -> CompletableFuture[JobStatus]:
        return CompletableFuture(self._status)

    def get_job_execution_result(self) -> CompletableFuture[JobExecutionResult]:
        """Returns the future of the result; its error is that of the job."""
        return CompletableFuture(cast(JobExecutionResult | Exception, self._outcome))

    def get_accumulators(self) -> CompletableFuture[dict[str, object]]:
        """Returns the future of an empty dict: no function of Python has accumulators."""
        return CompletableFuture(cast(dict[str, object], {}))

    def cancel(self) -> CompletableFuture[None]:
        """Cancels a job that is still running; for any other the future has an error, as in Flink."""
        if self._status is not JobStatus.RUNNING:
            return CompletableFuture(
                BadInput(f"job {self._job_id} was not canceled, but instead {self._status.name}: it has ended before")
            )
        self._status = JobStatus.CANCELED
        return CompletableFuture(None)

    def stop_with_savepoint(
        self, advance_to_end_of_event_time: bool, savepoint_directory: str | None = None
    ) -> NoReturn:
        """Raises BadInput: the job has already run."""
        raise self._has_run("stop_with_savepoint", "StopWithSavepoint")

    def trigger_savepoint(self, savepoint_directory: str | None = None) -> NoReturn:
        """Raises BadInput: the job has already run."""
        raise self._has_run("trigger_savepoint", "TriggerSavepoint")

    def _has_run(self, method: str, action: str) -> BadInput:
        return BadInput(
            f"JobClient.{method}: the job has run to its end in execute_async: set when it takes the savepoint before, with "
            f"env.flowsim_settings(actions=[{action}(...)])"
        )
