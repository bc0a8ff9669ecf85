"""The checkpoints and savepoints that a user requests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import assert_never

from flowsim.checkpoints.stop_with_savepoint import StopWithSavepoint as Stop
from flowsim.checkpoints.storage.completed_checkpoint import CompletedCheckpoint
from flowsim.cluster.job_master.executions import JobExecutions, TaskExecution
from flowsim.cluster.job_master.failover import Failover
from flowsim.cluster.job_master.job_checkpoints import JobCheckpoints
from flowsim.cluster.job_master.job_manager_actor import JobManagerActor
from flowsim.cluster.run_actions import SnapshotAction, StopWithSavepoint, TriggerCheckpoint, TriggerSavepoint
from flowsim.errors import FlowsimError
from flowsim.graph.execution_graph import ExecutionGraph
from flowsim.network.completion import Completion
from flowsim.tasks.task_state import TaskState


@dataclass(frozen=True, slots=True)
class RequestedSnapshot:
    """The result of an action that requests a checkpoint or savepoint; times in ns of the job's clock."""

    action: SnapshotAction
    ended_ns: int | None
    """When it completed or failed; None: the job ended before."""
    checkpoint_id: int | None
    """None: it has not completed."""
    path: str | None
    """The folder of a completed snapshot; starts with ``memory:`` if it was not written."""
    error: str | None
    """Why it failed; None: it has completed."""


class RunningJob:
    """The end of the tasks of a job that is stopped."""

    def __init__(self, execution: ExecutionGraph, executions: JobExecutions, failover: Failover) -> None:
        self._executions = executions
        self._failover = failover
        self.has_blocking_output = any(not edge.exchange.is_pipelined for edge in execution.job.edges)
        self._running: dict[int, TaskExecution] = {}
        """The attempts of a stop that have not ended, by subtask."""
        self._all_finished = True
        self._tasks_end: Completion[bool] | None = None

    def when_all_tasks_end(self) -> Completion[bool]:
        current = ((each.id, each.current_execution_attempt) for each in self._executions.subtasks)
        self._running = {number: one for number, one in current if one is not None and not one.task.state.is_terminal}
        self._all_finished = True
        self._tasks_end = Completion()
        if not self._running:
            self._tasks_end.complete(True)
        return self._tasks_end

    @property
    def is_stopped(self) -> bool:
        """True once a stop has begun."""
        return self._tasks_end is not None

    def on_task_ended(self, subtask: int) -> None:
        """An attempt has ended."""
        attempt = self._running.pop(subtask, None)
        if attempt is not None and self._tasks_end is not None:
            self._all_finished = self._all_finished and attempt.task.state is TaskState.FINISHED
            if not self._running:
                self._tasks_end.complete(self._all_finished)

    def handle_global_failure(self, cause: FlowsimError) -> None:
        self._failover.on_global_failure(cause)


class SnapshotRequests:
    """Handles the actions of a run for checkpoints and savepoints, in turns of the job manager's actor."""

    def __init__(self, checkpoints: JobCheckpoints, job: RunningJob, actor: JobManagerActor) -> None:
        self._checkpoints = checkpoints
        self._job = job
        self._actor = actor
        self._started_ns = actor.now_ns
        self._requested: list[_Request] = []

    def request(self, action: SnapshotAction) -> None:
        """Requests a snapshot."""
        request = _Request(action)
        self._requested.append(request)
        self._actor.execute(lambda: self._snapshot(action).when_complete(partial(self._on_completion, request)))

    def results(self, actions: Sequence[SnapshotAction]) -> tuple[RequestedSnapshot, ...]:
        """Returns the results of all actions of the run, which were requested in this order."""
        not_ended = "the job ended before the snapshot was complete"
        results = [each.result for each in self._requested] + [None] * (len(actions) - len(self._requested))
        return tuple(
            result or RequestedSnapshot(action, None, None, None, not_ended)
            for action, result in zip(actions, results, strict=True)
        )

    def _snapshot(self, action: SnapshotAction) -> Completion[CompletedCheckpoint]:
        coordinator = self._checkpoints.coordinator
        match action:
            case TriggerCheckpoint():
                return coordinator.trigger_checkpoint()
            case TriggerSavepoint(directory=directory):
                return coordinator.trigger_savepoint(directory)
            case StopWithSavepoint(drain=drain, directory=directory):
                return Stop(coordinator, self._job, self._actor).stop(drain=drain, target_location=directory)
            case _:
                assert_never(action)

    def _on_completion(
        self, request: _Request, snapshot: CompletedCheckpoint | None, error: BaseException | None
    ) -> None:
        now_ns = self._actor.now_ns - self._started_ns
        if snapshot is None:
            request.result = RequestedSnapshot(request.action, now_ns, None, None, str(error))
        else:
            path = snapshot.location.external_pointer
            request.result = RequestedSnapshot(request.action, now_ns, snapshot.checkpoint_id, path, None)


@dataclass(slots=True, eq=False)
class _Request:
    action: SnapshotAction
    result: RequestedSnapshot | None = None
