"""Connects a coordinator of an operator with checkpoints and tasks (rules 12.108-12.110).

Flink: OperatorCoordinatorHolder, SubtaskGatewayImpl, IncompleteFuturesTracker.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from flowsim.checkpoints.main_thread_executor import MainThreadExecutor
from flowsim.errors import FlowsimError, InvariantViolation
from flowsim.network.completion import Completion
from flowsim.streamrecord.operator_event import AcknowledgeCheckpointEvent, OperatorEvent

_NO_CHECKPOINT_YET: Final = -(2**63)


class OperatorEventLost(FlowsimError):
    """An event did not arrive, so the subtask must restart from a checkpoint before it (rule 12.108)."""


class SubtaskAccess(Protocol):
    """The current attempt of a subtask; a Protocol, because this package does not know tasks. Flink: SubtaskAccess."""

    @property
    def name(self) -> str: ...

    @property
    def is_still_running(self) -> bool: ...

    def send_event(self, event: OperatorEvent) -> Completion[None]:
        """Sends an event to the task; done when the task has it."""
        ...

    def trigger_task_failover(self, cause: OperatorEventLost) -> None:
        """Fails the task."""
        ...


class OperatorCoordinator(Protocol):
    """Runs in the job manager and exchanges events with the subtasks of its operator.

    A Protocol, because coordinators send their events through their holder. Flink: OperatorCoordinator.
    """

    def execution_attempt_ready(self, subtask: int, attempt: int, holder: OperatorCoordinatorHolder) -> None:
        """A task runs, and can get events through the holder."""
        ...

    def execution_attempt_failed(self, subtask: int, attempt: int, reason: BaseException | None) -> None: ...

    def subtask_reset(self, subtask: int, checkpoint_id: int) -> None:
        """A subtask restarts from a checkpoint; -1: from its initial state (rule 12.112)."""
        ...

    def handle_event_from_operator(self, subtask: int, attempt: int, event: OperatorEvent) -> None: ...

    def checkpoint_coordinator(self, checkpoint_id: int, result: Completion[bytes | None]) -> None:
        """Takes a snapshot: completes ``result`` with the state, now or later."""
        ...

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None: ...

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None: ...

    def reset_to_checkpoint(self, checkpoint_id: int, state: bytes | None) -> None:
        """Restores the coordinator; the id is -1, and the state None, if nothing is complete (rule 12.130)."""
        ...


@dataclass(slots=True, eq=False)
class _Gateway:
    """The way of events to one attempt."""

    access: SubtaskAccess
    marked: set[int] = field(default_factory=set)
    """The checkpoints for which it may close."""
    blocked: dict[int, list[tuple[OperatorEvent, Completion[None]]]] = field(default_factory=dict)
    """The events that each checkpoint for which it is closed holds back."""


class OperatorCoordinatorHolder:
    """Marks, closes and opens the gateways to the subtasks around the snapshots of a coordinator.

    A closed gateway holds events back between the snapshot of the coordinator and the snapshot of the subtask. So an
    event is either before both snapshots or after both (rule 12.110). If several checkpoints hold events back, a new
    event belongs to the newest of them. Flink: OperatorCoordinatorHolder.

    Invariant: all gateways are closed for a checkpoint, or none is.
    """

    __slots__ = (
        "operator_id",
        "_coordinator",
        "_gateways",
        "_latest_checkpoint_id",
        "_main_thread",
        "_unconfirmed",
    )

    def __init__(self, operator_id: str, coordinator: OperatorCoordinator, main_thread: MainThreadExecutor) -> None:
        self.operator_id: str = operator_id
        self._coordinator = coordinator
        self._main_thread = main_thread
        self._gateways: dict[int, _Gateway] = {}
        """By subtask."""
        self._latest_checkpoint_id = _NO_CHECKPOINT_YET
        """The newest checkpoint for which the gateways were marked."""
        self._unconfirmed: list[Completion[None]] = []
        """The events that no task has confirmed, since the last snapshot."""

    # Tasks.

    def on_attempt_deployed(self, subtask: int, access: SubtaskAccess) -> None:
        """A new attempt of a subtask gets a gateway, which is open."""
        self._gateways[subtask] = _Gateway(access)

    def on_attempt_running(self, subtask: int, attempt: int) -> None:
        """The attempt can get events."""
        self._coordinator.execution_attempt_ready(subtask, attempt, self)

    def on_attempt_failed(self, subtask: int, attempt: int, reason: BaseException | None) -> None:
        self._coordinator.execution_attempt_failed(subtask, attempt, reason)

    def subtask_reset(self, subtask: int, access: SubtaskAccess, checkpoint_id: int) -> None:
        """A restarted subtask is restored from a checkpoint; -1: from its initial state (rule 12.130)."""
        self.on_attempt_deployed(subtask, access)
        self._coordinator.subtask_reset(subtask, checkpoint_id)

    def handle_event_from_operator(self, subtask: int, attempt: int, event: OperatorEvent) -> None:
        """Opens the gateway of a subtask that has taken its snapshot; other events are the coordinator's."""
        if isinstance(event, AcknowledgeCheckpointEvent):
            self._open(self._gateways[subtask], event.checkpoint_id)
        else:
            self._coordinator.handle_event_from_operator(subtask, attempt, event)

    def send_event(self, subtask: int, event: OperatorEvent) -> None:
        """Sends an event of the coordinator, or keeps it until the gateway opens. If it is lost, the task fails."""
        gateway = self._gateways[subtask]
        sent: Completion[None] = Completion()
        confirmed: Completion[None] = Completion()
        # The newest callback is the first one: the task fails before a checkpoint that waits for the event does.
        sent.forward_to(confirmed)
        sent.when_complete(lambda _, error: _on_sent(gateway.access, event, error))
        if gateway.blocked:
            gateway.blocked[max(gateway.blocked)].append((event, sent))
        else:
            gateway.access.send_event(event).forward_to(sent)
        if not confirmed.is_done:
            self._unconfirmed.append(confirmed)

    # Checkpoints.

    def checkpoint_coordinator(self, checkpoint_id: int, result: Completion[bytes | None]) -> None:
        """Starts a snapshot; completes ``result`` when the state is there and all earlier events have arrived."""
        self._main_thread.execute(lambda: self._checkpoint_coordinator(checkpoint_id, result))

    def _checkpoint_coordinator(self, checkpoint_id: int, result: Completion[bytes | None]) -> None:
        snapshot: Completion[bytes | None] = Completion()
        snapshot.when_complete(
            lambda state, error: self._main_thread.execute(
                lambda: self._on_snapshot(checkpoint_id, result, state, error)
            )
        )
        self.mark_for_checkpoint(checkpoint_id)
        self._coordinator.checkpoint_coordinator(checkpoint_id, snapshot)

    def mark_for_checkpoint(self, checkpoint_id: int) -> None:
        """Allows the gateways to close for this checkpoint. Raises InvariantViolation unless the ids increase."""
        if checkpoint_id <= self._latest_checkpoint_id:
            raise InvariantViolation(
                f"a gateway is marked for checkpoint {checkpoint_id} after checkpoint {self._latest_checkpoint_id}"
            )
        self._latest_checkpoint_id = checkpoint_id
        for gateway in self._gateways.values():
            gateway.marked.add(checkpoint_id)

    def _on_snapshot(
        self, checkpoint_id: int, result: Completion[bytes | None], state: bytes | None, error: Exception | None
    ) -> None:
        if error is not None:
            result.complete_exceptionally(error)
        elif self.try_close_gateways(checkpoint_id):
            self._complete_once_events_are_confirmed(result, state)
        else:
            result.complete_exceptionally(FlowsimError("Cannot close gateway"))

    def try_close_gateways(self, checkpoint_id: int) -> bool:
        """Closes the gateways; False if they are not marked, because the checkpoint was aborted meanwhile."""
        are_marked = {checkpoint_id in gateway.marked for gateway in self._gateways.values()}
        if len(are_marked) > 1:
            raise InvariantViolation(
                f"some gateways of {self.operator_id} close for checkpoint {checkpoint_id}, some do not"
            )
        if False in are_marked:
            return False
        for gateway in self._gateways.values():
            gateway.blocked.setdefault(checkpoint_id, [])
        return True

    def _complete_once_events_are_confirmed(self, result: Completion[bytes | None], state: bytes | None) -> None:
        """Completes the snapshot when the tasks have all events before it; one that is lost fails it."""
        unconfirmed = [event for event in self._unconfirmed if not event.is_done]
        self._unconfirmed = []
        if not unconfirmed:
            result.complete(state)
        for event in unconfirmed:
            event.when_complete(lambda _, error: _on_event_confirmed(unconfirmed, result, state, error))

    def abort_current_triggering(self) -> None:
        """Opens the gateways: the trigger of the newest checkpoint failed."""
        self._main_thread.execute(self._abort_current_triggering)

    def _abort_current_triggering(self) -> None:
        for gateway in self._gateways.values():
            if gateway.marked:
                self._open(gateway, max(gateway.marked))

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        self._main_thread.execute(
            lambda: self._on_end_of_checkpoint(checkpoint_id, self._coordinator.notify_checkpoint_complete)
        )

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        self._main_thread.execute(
            lambda: self._on_end_of_checkpoint(checkpoint_id, self._coordinator.notify_checkpoint_aborted)
        )

    def _on_end_of_checkpoint(self, checkpoint_id: int, notify: Callable[[int], None]) -> None:
        if checkpoint_id > self._latest_checkpoint_id:
            # It was aborted before it came here. In Flink the gateways throw, which ends in the log.
            return
        for gateway in self._gateways.values():
            self._open(gateway, checkpoint_id)
        notify(checkpoint_id)

    def reset_to_checkpoint(self, checkpoint_id: int, state: bytes | None) -> None:
        """Restores the coordinator; the gateways open, and send events in the order of the checkpoints."""
        for gateway in self._gateways.values():
            for closed in sorted(gateway.blocked):
                _send(gateway, gateway.blocked[closed])
            gateway.blocked.clear()
            gateway.marked.clear()
        self._coordinator.reset_to_checkpoint(checkpoint_id, state)

    def _open(self, gateway: _Gateway, checkpoint_id: int) -> None:
        """Ends the checkpoint: its events are sent, or belong to the next older one for which the gateway is closed.

        Raises InvariantViolation for an id above all marked ones.
        """
        if checkpoint_id > self._latest_checkpoint_id:
            raise InvariantViolation(
                f"a gateway opens for checkpoint {checkpoint_id}, but the last one that it was marked for is "
                f"{self._latest_checkpoint_id}"
            )
        if checkpoint_id not in gateway.marked:
            return
        gateway.marked.remove(checkpoint_id)
        events = gateway.blocked.pop(checkpoint_id, [])
        older = [other for other in gateway.blocked if other < checkpoint_id]
        if older:
            gateway.blocked[max(older)].extend(events)
        else:
            _send(gateway, events)


def _send(gateway: _Gateway, events: Sequence[tuple[OperatorEvent, Completion[None]]]) -> None:
    for event, sent in events:
        gateway.access.send_event(event).forward_to(sent)


def _on_sent(access: SubtaskAccess, event: OperatorEvent, error: Exception | None) -> None:
    if error is not None and access.is_still_running:
        lost = OperatorEventLost(
            "An OperatorEvent from an OperatorCoordinator to a task was lost. Triggering task failover to ensure "
            f"consistency. Event: '{type(event).__name__}', targetTask: {access.name}"
        )
        lost.__cause__ = error
        access.trigger_task_failover(lost)


def _on_event_confirmed(
    events: Sequence[Completion[None]], result: Completion[bytes | None], state: bytes | None, error: Exception | None
) -> None:
    if error is not None:
        result.complete_exceptionally(
            OperatorEventLost(
                "Failing OperatorCoordinator checkpoint because some OperatorEvents before this checkpoint barrier were "
                "not received by the target tasks."
            )
        )
    elif all(event.is_done for event in events):
        result.complete(state)
