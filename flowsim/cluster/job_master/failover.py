"""Restarts tasks after failures. Flink: DefaultScheduler, ExecutionVertexVersioner (rules 12.122-12.129)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from flowsim.checkpoints.failover.execution_failure_handler import (
    ExecutionFailureHandler,
    FailureHandlingResult,
    TooManyRestarts,
)
from flowsim.sim.origin import Origin
from flowsim.sim.scheduler import Scheduler
from flowsim.units import NS_PER_MS


@dataclass(frozen=True, slots=True)
class RootException:
    """A failure of the job. Flink: RootExceptionHistoryEntry.

    ``subtask``: the id of the failed subtask; None for a failure of the whole job. ``restarted``: the subtasks that it
    restarted; empty if the job failed for good.
    """

    time_ns: int
    subtask: int | None
    error: BaseException
    restarted: tuple[int, ...]
    restart_delay_ms: int


class RestartedTasks(Protocol):
    """The tasks of a job.

    A Protocol, because the job master, which implements it, owns the failover.
    """

    def cancel_task(self, subtask: int) -> None:
        """Starts to cancel the current attempt, unless it has ended."""

    def is_terminal(self, subtask: int) -> bool:
        """True if the current attempt has ended."""

    def on_failure(self, number: int, failure: RootException) -> None:
        """A failure was handled; it is number ``number`` of the job, from 0."""

    def restart_tasks(self, subtasks: Sequence[int], failure: int, *, is_global: bool) -> None:
        """Restores and starts new attempts, because of failure number ``failure``."""

    def in_turn(self, action: Callable[[], None]) -> None:
        """Runs an action behind what the job has to do before, because tasks have ended."""

    def on_job_status_change(self, *, is_running: bool) -> None:
        """The job leaves or reaches the state RUNNING."""

    def fail_job(self, subtask: int | None, error: BaseException) -> None:
        """Ends the job: it does not restart."""


@dataclass(slots=True, eq=False)
class _PendingRestart:
    subtasks: tuple[int, ...]
    versions: dict[int, int]
    failure: int
    is_global: bool
    is_due: bool = False


class Failover:
    """Cancels the tasks of a failure, and restarts them after the delay when all have ended (rule 12.123).

    A later failure takes over the tasks that it needs; each is restarted once. Invariant: a task restarts only with its
    newest version.
    """

    def __init__(self, handler: ExecutionFailureHandler, tasks: RestartedTasks, scheduler: Scheduler) -> None:
        self._origin = Origin("master", -1, 1)
        self._handler = handler
        self._tasks = tasks
        self._scheduler = scheduler
        self._versions: dict[int, int] = {}
        self._pending: list[_PendingRestart] = []
        self.history: list[RootException] = []
        self._restarted: set[int] = set()
        """The numbers of the failures whose tasks restarted."""
        self._taken_over: dict[int, int] = {}
        """The later failure that restarts all tasks of an earlier one, by their numbers."""

    @property
    def has_pending_restarts(self) -> bool:
        """True while tasks wait for their restart."""
        return bool(self._pending)

    @property
    def number_of_restarts(self) -> int:
        return self._handler.number_of_restarts

    @property
    def restarts_done(self) -> int:
        """The number of restarts that have happened."""
        return len(self._restarted)

    def has_restarted(self, number: int) -> bool:
        """True if the tasks of failure ``number`` restarted, because of it or of a later failure that took them over."""
        while number in self._taken_over:
            number = self._taken_over[number]
        return number in self._restarted

    def on_task_failed(self, subtask: int, error: BaseException) -> None:
        """Handles the failure of the current attempt of a subtask."""
        self._handle(self._handler.get_failure_handling_result(subtask, error), error)

    def on_global_failure(self, error: BaseException) -> None:
        """Handles a failure of the whole job: all tasks restart (rule 12.122)."""
        self._handle(self._handler.get_global_failure_handling_result(error), error)

    def restart_all(self, error: BaseException) -> None:
        """Restarts all tasks at once, without asking the restart strategy: another job manager goes on."""
        self._handle(FailureHandlingResult(None, True, self._handler.all_tasks), error)

    def on_task_ended(self) -> None:
        """A task has ended; tasks whose delay has passed may restart now."""
        for pending in list(self._pending):
            if pending.is_due and all(self._tasks.is_terminal(subtask) for subtask in self._current(pending)):
                self._tasks.in_turn(partial(self._restart, pending))

    def close(self) -> None:
        """Drops the pending restarts."""
        self._pending.clear()

    def _handle(self, result: FailureHandlingResult, error: BaseException) -> None:
        failed = result.failed_subtask
        number = len(self.history)
        self.history.append(
            RootException(self._scheduler.now_ns, failed, error, result.tasks_to_restart, result.restart_delay_ms)
        )
        self._tasks.on_failure(number, self.history[-1])
        if not result.can_restart:
            self._tasks.fail_job(failed, result.error if isinstance(result.error, TooManyRestarts) else error)
            return
        for subtask in result.tasks_to_restart:
            self._versions[subtask] = self._versions.get(subtask, 0) + 1
        self._taken_over.update({each.failure: number for each in self._pending if not self._current(each)})
        self._pending = [each for each in self._pending if self._current(each)]
        versions = {subtask: self._versions[subtask] for subtask in result.tasks_to_restart}
        pending = _PendingRestart(result.tasks_to_restart, versions, number, failed is None)
        self._pending.append(pending)
        self._tasks.on_job_status_change(is_running=False)
        for subtask in result.tasks_to_restart:
            self._tasks.cancel_task(subtask)
        when_ns = self._scheduler.now_ns + result.restart_delay_ms * NS_PER_MS
        self._scheduler.call_at_ns(when_ns, partial(self._on_due, pending), origin=self._origin)

    def _on_due(self, pending: _PendingRestart) -> None:
        pending.is_due = True
        self.on_task_ended()

    def _restart(self, pending: _PendingRestart) -> None:
        if pending in self._pending:
            self._pending.remove(pending)
            self._restarted.add(pending.failure)
            self._tasks.restart_tasks(self._current(pending), pending.failure, is_global=pending.is_global)
            if not self._pending:
                self._tasks.on_job_status_change(is_running=True)

    def _current(self, pending: _PendingRestart) -> list[int]:
        """Returns the tasks that no later failure has taken over."""
        return [each for each in pending.subtasks if self._versions[each] == pending.versions[each]]
