"""What restarts after a failure, and when. Flink: ExecutionFailureHandler (rules 12.122-12.124, 12.129)."""

from __future__ import annotations

from dataclasses import dataclass

from flowsim.checkpoints.failover.restart_backoff_time_strategy import RestartBackoffTimeStrategy
from flowsim.checkpoints.failover.restart_pipelined_region_failover_strategy import (
    RestartPipelinedRegionFailoverStrategy,
)
from flowsim.checkpoints.failover.scheduling_topology import ResultPartition, SchedulingTopology
from flowsim.errors import FlowsimError, SuppressRestarts
from flowsim.quantities import count_text


class RecoverySuppressed(FlowsimError):
    """The job fails for good. Flink: JobException."""


class TooManyRestarts(RecoverySuppressed):
    """The run reached its limit of restarts, which Flink does not have."""


@dataclass(frozen=True, slots=True)
class FailureHandlingResult:
    """The decision about one failure. Flink: FailureHandlingResult."""

    failed_subtask: int | None
    """None: the failure is global."""
    is_root_cause: bool
    """False if the failure joins an earlier one, so that it is no attempt of its own."""
    tasks_to_restart: tuple[int, ...] = ()
    restart_delay_ms: int = 0
    error: RecoverySuppressed | None = None
    """Why the job does not restart."""

    @property
    def can_restart(self) -> bool:
        return self.error is None


class ExecutionFailureHandler:
    """Combines the failover strategy with the restart strategy. Flink: ExecutionFailureHandler."""

    __slots__ = ("_failover_strategy", "_max_restarts", "_number_of_restarts", "_restart_strategy", "_topology")

    def __init__(
        self,
        topology: SchedulingTopology,
        failover_strategy: RestartPipelinedRegionFailoverStrategy,
        restart_strategy: RestartBackoffTimeStrategy,
        max_restarts: int | None = None,
    ) -> None:
        """``max_restarts``: the job fails instead of a further restart; None: no limit."""
        self._topology = topology
        self._failover_strategy = failover_strategy
        self._restart_strategy = restart_strategy
        self._max_restarts = max_restarts
        self._number_of_restarts = 0

    @property
    def number_of_restarts(self) -> int:
        """The number of attempts that could restart (rule 12.129)."""
        return self._number_of_restarts

    def get_failure_handling_result(
        self, failed_subtask: int, cause: BaseException, lost_partition: ResultPartition | None = None
    ) -> FailureHandlingResult:
        """Decides about the failure of a subtask; ``lost_partition`` is the one that it could not read."""
        if _is_unrecoverable(cause):
            return _final(failed_subtask, "The failure is not recoverable", cause, is_root_cause=True)
        tasks = self._failover_strategy.get_tasks_needing_restart(failed_subtask, lost_partition)
        return self._restart(failed_subtask, tuple(tasks), cause)

    def get_global_failure_handling_result(self, cause: BaseException) -> FailureHandlingResult:
        """Decides about a failure of the whole job: every subtask restarts (rule 12.122)."""
        if _is_unrecoverable(cause):
            return _final(None, "The failure is not recoverable", cause, is_root_cause=True)
        return self._restart(None, self.all_tasks, cause)

    @property
    def all_tasks(self) -> tuple[int, ...]:
        """Every subtask of the job."""
        return tuple(range(len(self._topology.job_vertex_of)))

    def _restart(
        self, failed_subtask: int | None, tasks: tuple[int, ...], cause: BaseException
    ) -> FailureHandlingResult:
        is_root_cause = self._restart_strategy.notify_failure()
        if not self._restart_strategy.can_restart():
            name = type(self._restart_strategy).__name__
            return _final(failed_subtask, f"Recovery is suppressed by {name}", cause, is_root_cause=is_root_cause)
        if is_root_cause and self._number_of_restarts == self._max_restarts:
            error = TooManyRestarts(f"the job has restarted {count_text(self._max_restarts, 'time')}")
            error.__cause__ = cause
            return FailureHandlingResult(failed_subtask, True, error=error)
        # A failure that joins an earlier one restarts more tasks, but with it (rules 12.123, 12.129).
        self._number_of_restarts += is_root_cause
        return FailureHandlingResult(failed_subtask, is_root_cause, tasks, self._restart_strategy.backoff_time_ms())


def _final(
    failed_subtask: int | None, message: str, cause: BaseException, *, is_root_cause: bool
) -> FailureHandlingResult:
    error = RecoverySuppressed(f"{message}: {cause}")
    error.__cause__ = cause
    return FailureHandlingResult(failed_subtask, is_root_cause, error=error)


def _is_unrecoverable(error: BaseException | None) -> bool:
    """True if the error, or a cause of it, forbids a restart (rule 12.124)."""
    while error is not None:
        if isinstance(error, SuppressRestarts):
            return True
        error = error.__cause__
    return False
