"""What happens to a running job at set times: the actions and failures of a run."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import assert_never

from flowsim.cluster.deployment import Deployment
from flowsim.cluster.failures import FailAnyTask, FailTask, LoseJobManager, LoseTaskManager, checked_failures
from flowsim.cluster.job_execution import RunOptions
from flowsim.cluster.job_master.job_master import JobMaster
from flowsim.cluster.job_master.snapshot_requests import RequestedSnapshot
from flowsim.cluster.job_status import JobStatus
from flowsim.cluster.run_actions import (
    CancelJob,
    RunAction,
    SnapshotAction,
    StopJob,
    checked_actions,
)
from flowsim.cluster.task_failures import RequestedFailure, TaskFailures
from flowsim.graph.execution_graph import ExecutionGraph
from flowsim.quantities import duration_text
from flowsim.sim.origin import Origin
from flowsim.sim.scheduler import Scheduler
from flowsim.streamrecord.events import StopMode
from flowsim.tasks.stream_task import StreamTask
from flowsim.tasks.task_state import TaskState


class CheckedEvents:
    """The valid actions and failures of a run. Raises BadInput for invalid ones."""

    def __init__(self, options: RunOptions) -> None:
        self.actions = checked_actions(options.actions)
        self.failures = checked_failures(options.failures)
        self.requests = [each for each in self.actions if isinstance(each, SnapshotAction)]
        """The actions that need checkpoints."""
        self.needs_checkpoints = bool(self.requests) or options.savepoint is not None


class RunEvents:
    """Schedules the actions and failures of a run. Raises BadInput for unknown tasks and task managers."""

    def __init__(self, events: CheckedEvents, execution: ExecutionGraph) -> None:
        self._origin = Origin("action")
        self._events = events
        self._execution = execution
        self.task_failures = TaskFailures(events.failures, execution) if events.failures else None
        """None: the run asks for no failure."""
        self._started_ns = 0

    def start(
        self, deployment: Deployment, master: JobMaster, scheduler: Scheduler, end: Callable[[JobStatus], None]
    ) -> None:
        """Schedules all events; ``end`` ends the job."""
        self._started_ns = scheduler.now_ns
        for action in self._events.actions:
            doing = self._doing(action, deployment, master, scheduler, end)
            scheduler.call_at_ns(self._started_ns + action.at_ns, doing, origin=self._origin)
        for number, (at_ns, fail) in enumerate(self._timed_failures(master)):
            scheduler.call_at_ns(self._started_ns + at_ns, fail, origin=Origin("failure", -1, number))
        if scheduler.explores_time:
            any_task = Origin("any_failure")
            for _ in range(sum(failure.most for failure in self._events.failures if isinstance(failure, FailAnyTask))):
                scheduler.call_at_ns(self._started_ns, partial(self._fail_any, master, scheduler), origin=any_task)

    def _fail_any(self, master: JobMaster, scheduler: Scheduler) -> None:
        """Fails one of the tasks that have not ended, which the exploration chooses."""
        running = [
            each.id
            for each in master.executions.subtasks
            if each.current_execution_attempt is not None
            and each.current_execution_attempt.task.state in (TaskState.INITIALIZING, TaskState.RUNNING)
        ]
        if running:
            number = scheduler.draw("failed_task", running, 0, -1)
            error = RequestedFailure(f"{self._execution.subtasks[number].name} fails, as the exploration has chosen")
            master.fail_attempt(number, master.executions.subtasks[number].attempts - 1, error)

    def prepare(self, task: StreamTask, master: JobMaster) -> None:
        """Lets the batches of a task end before each event."""
        for action in self._events.actions:
            task.timers.end_batch_at(self._started_ns + action.at_ns)
        for at_ns, _ in self._timed_failures(master):
            task.timers.end_batch_at(self._started_ns + at_ns)

    def requested_snapshots(self, master: JobMaster | None) -> tuple[RequestedSnapshot, ...]:
        """Returns the results of the actions that request checkpoints and savepoints."""
        if master is None or master.requests is None:
            return ()
        return master.requests.results(self._events.requests)

    def _timed_failures(self, master: JobMaster) -> list[tuple[int, Callable[[], None]]]:
        """Returns the failures at set times, with their times from the start of the job."""
        timed: list[tuple[int, Callable[[], None]]] = []
        for failure in self._events.failures:
            match failure:
                case FailTask(at_ns=at_ns):
                    if at_ns is not None and self.task_failures is not None:
                        number = self.task_failures.subtask_of(failure)
                        name = self._execution.subtasks[number].name
                        error = RequestedFailure(f"{name} fails after {duration_text(at_ns)}, as the run asks for")
                        timed.append((at_ns, partial(master.fail_attempt, number, failure.attempt, error)))
                case LoseTaskManager(name=name, at_ns=lost_ns):
                    timed.append((lost_ns, partial(master.lose_task_manager, name)))
                case LoseJobManager(at_ns=lost_ns):
                    timed.append((lost_ns, master.lose_job_manager))
                case FailAnyTask():
                    pass
                case _:
                    assert_never(failure)
        return timed

    def _doing(
        self,
        action: RunAction,
        deployment: Deployment,
        master: JobMaster,
        scheduler: Scheduler,
        end: Callable[[JobStatus], None],
    ) -> Callable[[], None]:
        match action:
            case StopJob(drain=drain):
                return partial(_stop_sources, deployment, master, StopMode.DRAIN if drain else StopMode.NO_DRAIN)
            case CancelJob():
                return partial(end, JobStatus.CANCELED)
            case _:
                return partial(master.request, action)


def _stop_sources(deployment: Deployment, master: JobMaster, mode: StopMode) -> None:
    """Stops only the sources; other tasks read the stop from their input (rule 4.20)."""
    for task in deployment.tasks:
        task.stop(mode)
    if mode is StopMode.NO_DRAIN:
        master.on_stop_without_drain()
