"""The job's side of a run: attempts, failover and checkpoints. Flink: JobMaster, DefaultScheduler."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

from flowsim.checkpoints.checkpoint_properties import JobStatus as EndOfJob
from flowsim.checkpoints.checkpoint_restore import NO_CHECKPOINT
from flowsim.checkpoints.execution import ExecutionAttemptId
from flowsim.checkpoints.failover.execution_failure_handler import ExecutionFailureHandler
from flowsim.checkpoints.failover.restart_pipelined_region_failover_strategy import (
    RestartPipelinedRegionFailoverStrategy,
)
from flowsim.checkpoints.failover.scheduling_topology import ResultPartition
from flowsim.checkpoints.storage.job_checkpoint_storage import storage_for
from flowsim.checkpoints.storage.storage_locations import SnapshotOwner
from flowsim.cluster.components import Components
from flowsim.cluster.job_master.executions import JobExecutions, TaskExecution, scheduling_topology
from flowsim.cluster.job_master.failover import Failover, RootException
from flowsim.cluster.job_master.job_checkpoints import JobCheckpoints
from flowsim.cluster.job_master.job_manager_actor import JobManagerActor
from flowsim.cluster.job_master.operator_coordinators import OperatorCoordinators
from flowsim.cluster.job_master.restart_strategies import create_restart_strategy
from flowsim.cluster.job_master.snapshot_requests import RunningJob, SnapshotRequests
from flowsim.cluster.job_master.task_gateway import TaskGateway
from flowsim.cluster.run_actions import SnapshotAction
from flowsim.errors import FlowsimError, JobFailed
from flowsim.facts.job_trace import JobTrace
from flowsim.facts.recorder import Recorder
from flowsim.graph.checkpoint_settings import SavepointRestoreSettings
from flowsim.graph.execution_graph import ExecutionGraph
from flowsim.sim.rng import RandomStreams
from flowsim.sim.scheduler import Scheduler
from flowsim.tasks.checkpointing.job_master_gateway import TaskCheckpointing
from flowsim.tasks.failure import job_failed
from flowsim.tasks.stream_task import StreamTask
from flowsim.tasks.task_state import TaskState


class RunningTasks(Protocol):
    """The tasks of the run, which the cluster starts and cancels.

    A Protocol, because the cluster owns the job master.
    """

    def cancel_task(self, subtask: int) -> None:
        """Starts to cancel the current attempt, unless it has ended."""

    def is_terminal(self, subtask: int) -> bool:
        """True if the current attempt has ended."""

    def redeploy(self, subtasks: Sequence[int]) -> None:
        """Replaces ended attempts by new ones, and starts those that may start."""

    def fail_job(self, subtask: int | None, error: BaseException) -> None:
        """Ends the job: it does not restart."""


class JobMaster:
    """Knows the attempts of all tasks, restarts them after failures, and takes checkpoints.

    Flink: JobMaster, DefaultScheduler.
    """

    def __init__(
        self,
        execution: ExecutionGraph,
        scheduler: Scheduler,
        streams: RandomStreams,
        recorder: Recorder | None,
        tasks: RunningTasks,
        savepoint: SavepointRestoreSettings | None = None,
        components: Components | None = None,
        max_restarts: int | None = None,
    ) -> None:
        """``savepoint``: from which snapshot the job starts. Raises BadInput if it does not fit.

        ``max_restarts``: the job fails instead of a further restart; None: no limit.
        """
        settings = execution.job.graph.settings
        self._tasks = tasks
        self._execution = execution
        self._trace = None if recorder is None else JobTrace(scheduler, recorder)
        self.executions = JobExecutions(execution)
        self.actor = JobManagerActor(len(execution.subtasks), scheduler, self._waits_for_checkpoint)
        topology = self._topology = scheduling_topology(execution)
        self._placement = execution.lost_together
        self._lost_results: set[int] = set()
        """The finished producers whose partitions were lost with their task manager."""
        strategy = create_restart_strategy(settings, self.actor, streams.stream("restart"))
        regions = RestartPipelinedRegionFailoverStrategy(topology, self, self.executions)
        self.failover = Failover(ExecutionFailureHandler(topology, regions, strategy, max_restarts), self, scheduler)
        self.coordinators = OperatorCoordinators(execution, self.actor, self.failover.on_global_failure)
        self._restored_id: int | None = None
        """From which checkpoint a region restarts, -1: none is complete; None: all tasks start or restart."""
        self._checkpoint_before_idleness: int | None = None
        self.checkpoints: JobCheckpoints | None = None
        if settings.checkpointing is not None:
            self.checkpoints = JobCheckpoints(
                settings.checkpointing,
                self.executions,
                self.actor,
                streams.stream("checkpoints"),
                storage_for(settings.checkpointing.directory, _owner(execution)),
                FailJob(self),
                list(self.coordinators.holders.values()),
                self._trace,
                (Components() if components is None else components).checkpoint_coordinator,
            )
            self.coordinators.backlog_listener = self.checkpoints.coordinator
        self._waiting_failures = 0
        """How many reported failures of tasks wait for their turn."""
        self.reasons: list[JobFailed] = []
        """The failures of the job with task, operator and record, in the order of their numbers."""
        self._stopped_job = RunningJob(execution, self.executions, self.failover)
        self.requests: SnapshotRequests | None = None
        """None: the job takes no checkpoints."""
        if self.checkpoints is not None:
            self.requests = SnapshotRequests(self.checkpoints, self._stopped_job, self.actor)
            if savepoint is not None:
                self.checkpoints.restore_savepoint(savepoint)

    @property
    def needs_actor(self) -> bool:
        """True if tasks report to the job while it runs."""
        return self.checkpoints is not None or self.coordinators.exist

    def start(self) -> None:
        """The job starts to run."""
        self.coordinators.start()
        self.on_job_status_change(is_running=True)

    def deploy(self, subtask: int, task: StreamTask) -> TaskCheckpointing | None:
        """Makes ``task`` the current attempt of a subtask; returns its checkpoints, if the job has any."""
        self._checkpoint_before_idleness = None
        execution = self.executions.subtasks[subtask].deploy(task)
        self.coordinators.on_deployed(subtask, task, execution.attempt_id.attempt, self._restored_id)
        if self.checkpoints is None:
            return None
        gateway = TaskGateway(execution, self.checkpoints, self.coordinators, self.actor)
        return self.checkpoints.task_checkpointing(execution, gateway)

    def request(self, action: SnapshotAction) -> None:
        """Requests a checkpoint or savepoint."""
        if self.requests is not None:
            self.requests.request(action)

    def close(self, end: EndOfJob) -> None:
        """Ends the job's side; later reports of tasks are dropped."""
        self.failover.close()
        if self.checkpoints is not None:
            self.checkpoints.close(end)
        self.coordinators.close()
        self.actor.close()

    def on_task_failed(self, subtask: int, error: BaseException) -> None:
        """The current attempt of a subtask has failed: its report waits behind the reports and requests before it."""
        attempt = self.executions.subtasks[subtask].current_execution_attempt
        if attempt is None or not self.needs_actor:
            self.failover.on_task_failed(subtask, error)
            return
        self._waiting_failures += 1
        self.actor.receive(subtask, partial(self._handle_failure, attempt, error))

    def _handle_failure(self, attempt: TaskExecution, error: BaseException) -> None:
        """Changes nothing if the job has begun to cancel the attempt. Flink: Execution.processFail."""
        self._waiting_failures -= 1
        vertex = attempt.vertex
        if vertex.current_execution_attempt is attempt and attempt.state is not TaskState.CANCELING:
            attempt.state = TaskState.FAILED
            if self.checkpoints is not None:
                self.checkpoints.on_state_update(attempt)
            self.failover.on_task_failed(vertex.id, error)

    def on_task_ended(self, subtask: int) -> None:
        """The current attempt of a subtask has ended."""
        self._stopped_job.on_task_ended(subtask)
        self.failover.on_task_ended()
        if self.checkpoints is not None and all(each.has_finished for each in reversed(self.executions.subtasks)):
            # The job has finished, and its last subtasks end last: no checkpoint that waited for another one is triggered.
            self.actor.execute(self.checkpoints.coordinator.shutdown)

    def in_turn(self, action: Callable[[], None]) -> None:
        """Runs an action in the actor, if a stop with a savepoint handles the ends of tasks there; otherwise at once."""
        if self._stopped_job.is_stopped:
            self.actor.execute(action)
        else:
            action()

    def when_handled(self, callback: Callable[[], None]) -> None:
        """Calls back when the ends of tasks so far were handled; the actor handles failures, and all after a stop."""
        if self._stopped_job.is_stopped or self._waiting_failures:
            self.actor.execute_last(callback)
        else:
            callback()

    def _waits_for_checkpoint(self) -> bool:
        """True while a task waits for its final checkpoint, or for the savepoint of a stop (rule 4.15), and can get it.

        Also after ``wait_for_next_checkpoint``. A checkpoint needs all tasks running or finished: behind one that hangs
        before that, there is nothing to wait for.
        """
        if (
            self.checkpoints is not None
            and self._checkpoint_before_idleness == self.checkpoints.store.latest_checkpoint_id
        ):
            return True
        attempts = [each.current_execution_attempt for each in self.executions.subtasks]
        return all(
            attempt is not None and attempt.task.state in (TaskState.RUNNING, TaskState.FINISHED)
            for attempt in attempts
        ) and any(
            attempt is not None
            and attempt.task.is_running
            and attempt.task.checkpoints is not None
            and attempt.task.checkpoints.waits_for_final_checkpoint
            for attempt in attempts
        )

    def wait_for_next_checkpoint(self) -> bool:
        """Lets an idle job go on until one more checkpoint, which commits what its sinks wrote.

        Returns False if there was one since the job is idle, or if the job takes no periodic checkpoints.
        """
        checkpoints = self.checkpoints
        if checkpoints is None or not checkpoints.coordinator.is_periodic_checkpointing_started:
            return False
        latest_id = checkpoints.store.latest_checkpoint_id
        if self._checkpoint_before_idleness is None:
            self._checkpoint_before_idleness = latest_id
        return self._checkpoint_before_idleness == latest_id

    # Failover.

    def is_available(self, partition: ResultPartition) -> bool:
        """True if a finished partition can still be read."""
        attempt = self.executions.subtasks[partition.producer].current_execution_attempt
        return (
            attempt is not None
            and attempt.task.state is TaskState.FINISHED
            and partition.producer not in self._lost_results
        )

    def cancel_task(self, subtask: int) -> None:
        vertex = self.executions.subtasks[subtask]
        self.coordinators.on_failed(subtask, vertex.attempts - 1)
        attempt = vertex.cancel()
        if self.checkpoints is None:
            self._tasks.cancel_task(subtask)
        elif attempt is not None:
            # A call to the task takes a turn, so that a trigger that has begun does not find canceled tasks (12.36).
            self.actor.execute(lambda: self._cancel_attempt(attempt))

    def _cancel_attempt(self, attempt: TaskExecution) -> None:
        if attempt.vertex.current_execution_attempt is attempt:
            self._tasks.cancel_task(attempt.vertex.id)

    def is_terminal(self, subtask: int) -> bool:
        return self._tasks.is_terminal(subtask)

    def restart_tasks(self, subtasks: Sequence[int], failure: int, *, is_global: bool) -> None:
        """Restores and starts new attempts (rules 12.29, 12.122)."""
        restored = -1
        if self.checkpoints is not None:
            self.checkpoints.before_restart([self.executions.subtasks[subtask] for subtask in subtasks])
        if is_global:
            self._restore_all()
            self._restored_id = None
        else:
            self._restored_id = self._restore_regions()
        if self.checkpoints is not None:
            restored = self.checkpoints.store.latest_checkpoint_id or NO_CHECKPOINT
        self._lost_results.difference_update(subtasks)
        self._tasks.redeploy(subtasks)
        if self._trace is not None:
            for subtask in subtasks:
                attempt = self.executions.subtasks[subtask].attempts - 1
                self._trace.restart(failure, subtask, attempt, restored)

    def on_failure(self, number: int, failure: RootException) -> None:
        """Records a failure; the last one of a job that does not restart has no delay."""
        self.reasons.append(job_failed(self._name_of(failure.subtask), failure.error))
        if self._trace is not None:
            subtask = -1 if failure.subtask is None else failure.subtask
            attempt = -1 if failure.subtask is None else self.executions.subtasks[subtask].attempts - 1
            self._trace.failure(number, subtask, attempt, failure.restart_delay_ms if failure.restarted else None)

    def _name_of(self, subtask: int | None) -> str:
        graph = self._execution
        return graph.job.graph.name if subtask is None else graph.subtasks[subtask].name

    def _restore_all(self) -> None:
        if self.checkpoints is None:
            self.coordinators.reset_all()
        else:
            self.checkpoints.restore.restore_latest_to_all()

    def _restore_regions(self) -> int:
        """Returns the id of the checkpoint, -1 without one."""
        restored = None if self.checkpoints is None else self.checkpoints.restore.restore_latest_to_subtasks()
        return NO_CHECKPOINT if restored is None else restored.checkpoint_id

    def on_job_status_change(self, *, is_running: bool) -> None:
        if self.checkpoints is not None:
            self.checkpoints.on_job_status_change(is_running=is_running)

    def fail_job(self, subtask: int | None, error: BaseException) -> None:
        self._tasks.fail_job(subtask, error)

    def on_stop_without_drain(self) -> None:
        """The sources are stopped without a savepoint; a final checkpoint follows when they have ended."""
        checkpoints = self.checkpoints
        if checkpoints is not None and checkpoints.settings.waits_for_final_checkpoint:
            self.actor.execute(lambda: checkpoints.end_of_data.on_stop_without_drain(self.executions.sources))

    # Failures that the run asks for.

    def fail_attempt(self, subtask: int, attempt: int, error: FlowsimError) -> None:
        """Fails an attempt of a subtask if it is the current one, and has not ended."""
        current = self.executions.subtasks[subtask].current_execution_attempt
        if current is not None and current.attempt_id.attempt == attempt and not current.task.state.is_terminal:
            current.task.fail_externally(_raising(error))

    def lose_task_manager(self, name: str) -> None:
        """Fails all attempts on a task manager, and those that read its finished partitions, which are lost."""
        owner = self._placement.names.index(name)
        lost = [each.id for each in self.executions.subtasks if self._placement.task_manager_of[each.id] == owner]
        finished = [each for each in lost if self.executions.subtasks[each].has_finished]
        self._lost_results.update(finished)
        readers = [each.consumers for each in self._topology.partitions if each.producer in finished]
        failing = dict.fromkeys([*lost, *(reader for each in readers for reader in each)])
        for subtask in failing:
            attempt = self.executions.subtasks[subtask].attempts - 1
            self.fail_attempt(subtask, attempt, TaskManagerLost(f"TaskManager {name} is no longer reachable."))

    def lose_job_manager(self) -> None:
        """Restarts all tasks from the last completed checkpoint; the restart strategy does not count it."""
        self.failover.restart_all(JobManagerLost("The job manager was lost."))

    # Failures of checkpoints.

    def fail_task(self, failing_task: ExecutionAttemptId, cause: FlowsimError) -> None:
        """Fails an attempt from outside, unless a newer one has replaced it."""
        vertex = next(each for each in self.executions.vertices if each.id == failing_task.vertex_id)
        attempt = vertex.task_vertices[failing_task.subtask].current_execution_attempt
        if attempt is not None and attempt.attempt_id == failing_task:
            attempt.task.fail_externally(_raising(cause))


class FailJob:
    """Fails the job or a task when too many checkpoints failed (rule 12.53)."""

    __slots__ = ("_master",)

    def __init__(self, master: JobMaster) -> None:
        self._master = master

    def fail_job(self, cause: FlowsimError) -> None:
        """Fails all tasks: a global failure."""
        self._master.failover.on_global_failure(cause)

    def fail_job_due_to_task_failure(self, cause: FlowsimError, failing_task: ExecutionAttemptId) -> None:
        """Fails the task that declined the checkpoint."""
        self._master.fail_task(failing_task, cause)


class TaskManagerLost(FlowsimError):
    """A task manager does not answer any more."""


class JobManagerLost(FlowsimError):
    """A job manager is replaced by another one."""


def _raising(error: FlowsimError) -> Callable[[], None]:
    def fail() -> None:
        raise error

    return fail


def _owner(execution: ExecutionGraph) -> SnapshotOwner:
    job = execution.job
    return SnapshotOwner(job.graph.name, {each.operator_id: each for each in job.operators})
