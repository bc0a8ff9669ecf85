"""The operator coordinators of a job, and the way of events between them and the tasks.

Flink: OperatorCoordinatorHandler, TaskOperatorEventGateway.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from flowsim.checkpoints.coordination.operator_coordinator_holder import OperatorCoordinatorHolder, OperatorEventLost
from flowsim.checkpoints.coordination.source_coordinator import BacklogListener, SourceCoordinator
from flowsim.checkpoints.main_thread_executor import Action
from flowsim.cluster.job_master.job_manager_actor import JobManagerActor
from flowsim.errors import FlowsimError
from flowsim.graph.edge_expansion import Subtask
from flowsim.graph.execution_graph import ExecutionGraph
from flowsim.mailbox.task_mailbox import MailboxClosedException, MailboxState
from flowsim.network.completion import Completion
from flowsim.operators.sources.source_events import RequestSplitEvent
from flowsim.sim.scheduler import Timer
from flowsim.streamrecord.operator_event import AcknowledgeCheckpointEvent, OperatorEvent
from flowsim.tasks.stream_task import StreamTask


class TaskAccess:
    """One attempt of a task, as a coordinator uses it. Flink: ExecutionSubtaskAccess."""

    __slots__ = ("_task", "_operator_id", "name")

    def __init__(self, task: StreamTask, operator_id: str) -> None:
        self._task = task
        self._operator_id = operator_id
        self.name: str = task.name

    @property
    def is_still_running(self) -> bool:
        return self._task.mailbox.state is MailboxState.OPEN

    def send_event(self, event: OperatorEvent) -> Completion[None]:
        """Sends an event as a mail; done at once, with an error if the task has ended."""
        sent: Completion[None] = Completion()
        try:
            self._task.dispatch_operator_event(self._operator_id, event)
        except MailboxClosedException:
            sent.complete_exceptionally(FlowsimError(f"{self.name} does not run any more"))
        else:
            sent.complete(None)
        return sent

    def trigger_task_failover(self, cause: OperatorEventLost) -> None:
        """Fails the task."""

        def fail() -> None:
            raise cause

        self._task.fail_externally(fail)


class CoordinatorEvents:
    """Sends the events of one attempt to the coordinators of its operators, until the attempt has failed.

    Flink: RpcTaskOperatorEventGateway.
    """

    __slots__ = ("_coordinators", "_subtask", "_attempt", "is_open")

    def __init__(self, coordinators: OperatorCoordinators, subtask: Subtask, attempt: int) -> None:
        self._coordinators = coordinators
        self._subtask = subtask
        self._attempt = attempt
        self.is_open = True

    def send_operator_event_to_coordinator(self, operator_id: str, event: OperatorEvent) -> None:
        def handle() -> None:
            if self.is_open:
                self._coordinators.handle_event(operator_id, self._subtask.index, self._attempt, event)

        is_request = isinstance(event, RequestSplitEvent)
        self._coordinators.actor.receive(self._subtask.id, handle, is_split_request=is_request)


class OperatorCoordinators:
    """The coordinators of all sources whose splits are assigned while the job runs.

    Events of tasks are handled in turns of the job manager's actor. ``on_failure`` gets the error of a coordinator. Flink:
    DefaultOperatorCoordinatorHandler.
    """

    def __init__(
        self, execution: ExecutionGraph, actor: JobManagerActor, on_failure: Callable[[Exception], None]
    ) -> None:
        self.actor = actor
        self.holders: dict[str, OperatorCoordinatorHolder] = {}
        """By operator id."""
        self.backlog_listener: BacklogListener | None = None
        """None: the job takes no checkpoints, whose interval a backlog changes (rule 12.43)."""
        self._on_failure = on_failure
        self._coordinators: list[SourceCoordinator[object]] = []
        self._operators_of: dict[int, list[str]] = {}
        """The ids of the operators with a coordinator, by the id of the vertex."""
        self._events: dict[int, CoordinatorEvents] = {}
        """The way from the newest attempt of each subtask."""
        self._subtasks = execution.subtasks
        for vertex in execution.job.vertices:
            for operator_id, node in ((each.operator_id, each.node) for each in vertex.operators):
                if node.enumerator_factory is not None:
                    coordinator: SourceCoordinator[object] = SourceCoordinator(
                        operator_id, node.enumerator_factory, vertex.parallelism, self
                    )
                    self._coordinators.append(coordinator)
                    self.holders[operator_id] = OperatorCoordinatorHolder(operator_id, coordinator, actor)
                    self._operators_of.setdefault(vertex.id, []).append(operator_id)

    @property
    def exist(self) -> bool:
        """True if an operator of the job has a coordinator."""
        return bool(self.holders)

    def start(self) -> None:
        """Starts the coordinators, restored ones too."""
        for coordinator in self._coordinators:
            self._guarded(coordinator.start)

    def close(self) -> None:
        """Ends the coordinators."""
        for coordinator in self._coordinators:
            coordinator.close()

    def set_is_processing_backlog(self, operator_id: str, is_processing_backlog: bool) -> None:
        if self.backlog_listener is not None:
            self.backlog_listener.set_is_processing_backlog(operator_id, is_processing_backlog)

    @property
    def now_ns(self) -> int:
        """The time of the job in ns."""
        return self.actor.now_ns

    def call_later(self, delay_ns: int, action: Action) -> Timer:
        """Runs an action of a coordinator after the delay, which keeps the run alive."""
        return self.actor.call_later(delay_ns, partial(self._guarded, action))

    def on_deployed(self, number: int, task: StreamTask, attempt: int, restored_id: int | None) -> None:
        """Connects a new attempt of a subtask, before it starts.

        ``restored_id``: from which checkpoint a failover restores the subtask, -1: none is complete; None: the
        coordinators start too, or were reset.
        """
        subtask = self._subtasks[number]
        operators = self._operators_of.get(subtask.vertex.id, ())
        if not operators:
            return
        task.operator_events.gateway = self._events[number] = CoordinatorEvents(self, subtask, attempt)
        for operator_id in operators:
            holder, access = self.holders[operator_id], TaskAccess(task, operator_id)
            if restored_id is None:
                holder.on_attempt_deployed(subtask.index, access)
            else:
                self._guarded(partial(holder.subtask_reset, subtask.index, access, restored_id))
            holder.on_attempt_running(subtask.index, attempt)

    def on_failed(self, number: int, attempt: int) -> None:
        """An attempt has failed, or is cancelled because another one has."""
        events = self._events.pop(number, None)
        if events is not None:
            events.is_open = False
            subtask = self._subtasks[number]
            for operator_id in self._operators_of[subtask.vertex.id]:
                self.holders[operator_id].on_attempt_failed(subtask.index, attempt, None)

    def reset_all(self) -> None:
        """All tasks start again from their initial state."""
        for holder in self.holders.values():
            self._guarded(partial(holder.reset_to_checkpoint, -1, None))

    def on_synchronous_part(self, number: int, attempt: int, checkpoint_id: int) -> None:
        """A task has taken the synchronous part of its snapshot (rule 12.109)."""
        events = self._events.get(number)
        if events is not None and events.is_open:
            subtask = self._subtasks[number]
            for operator_id in self._operators_of[subtask.vertex.id]:
                self.handle_event(operator_id, subtask.index, attempt, AcknowledgeCheckpointEvent(checkpoint_id))

    def handle_event(self, operator_id: str, index: int, attempt: int, event: OperatorEvent) -> None:
        """Handles an event of a running attempt."""
        holder = self.holders[operator_id]
        self._guarded(lambda: holder.handle_event_from_operator(index, attempt, event))

    def _guarded(self, action: Action) -> None:
        try:
            action()
        except Exception as error:
            self._on_failure(error)
