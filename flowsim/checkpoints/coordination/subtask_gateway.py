"""The way of operator events from a coordinator to a subtask. Flink: SubtaskGatewayImpl (rules 12.108-12.110)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from flowsim.errors import FlowsimError, InvariantViolation
from flowsim.network.completion import Completion
from flowsim.streamrecord.operator_event import OperatorEvent

NO_CHECKPOINT_YET: Final = -(2**63)
"""A gateway was marked for no checkpoint."""


class OperatorEventLost(FlowsimError):
    """An event did not arrive, so the subtask must restart from a checkpoint before it (rule 12.108)."""


class SubtaskAccess(Protocol):
    """The current attempt of a subtask. Flink: SubtaskAccess."""

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


class IncompleteFuturesTracker:
    """The events that no task has confirmed. Flink: IncompleteFuturesTracker."""

    __slots__ = ("_incomplete",)

    def __init__(self) -> None:
        self._incomplete: list[Completion[None]] = []

    def track_future_while_incomplete(self, future: Completion[None]) -> None:
        if not future.is_done:
            self._incomplete.append(future)

    def get_current_incomplete_and_reset(self) -> Sequence[Completion[None]]:
        """Returns the unconfirmed events and forgets them."""
        incomplete = [future for future in self._incomplete if not future.is_done]
        self._incomplete = []
        return incomplete


@dataclass(frozen=True, slots=True)
class _BlockedEvent:
    event: OperatorEvent
    sent: Completion[None]


class SubtaskGateway:
    """Holds back the events between the snapshot of a coordinator and the snapshot of the subtask.

    So an event is either before both snapshots or after both (rule 12.110). If several checkpoints hold events back, a
    new event belongs to the newest of them. Flink: SubtaskGatewayImpl.
    """

    __slots__ = (
        "_access",
        "_blocked_events",
        "_latest_attempted_checkpoint_id",
        "_marked_checkpoint_ids",
        "_unconfirmed_events",
    )

    def __init__(
        self,
        access: SubtaskAccess,
        unconfirmed_events: IncompleteFuturesTracker,
        latest_attempted_checkpoint_id: int = NO_CHECKPOINT_YET,
    ) -> None:
        self._access = access
        self._unconfirmed_events = unconfirmed_events
        self._blocked_events: dict[int, list[_BlockedEvent]] = {}
        """The events of each checkpoint that closed the gateway."""
        self._marked_checkpoint_ids: set[int] = set()
        self._latest_attempted_checkpoint_id = latest_attempted_checkpoint_id

    def send_event(self, event: OperatorEvent) -> Completion[None]:
        """Sends an event, or keeps it until the gateway opens; done when the task has it.

        If the event is lost, the task fails.
        """
        confirmed: Completion[None] = Completion()
        blocked = _BlockedEvent(event, Completion())
        # The newest callback is the first one: the task fails before a checkpoint that waits for the event does.
        blocked.sent.forward_to(confirmed)
        blocked.sent.when_complete(lambda _, error: self._on_confirmed(event, error))
        if self._blocked_events:
            self._blocked_events[max(self._blocked_events)].append(blocked)
        else:
            self._send(blocked)
        self._unconfirmed_events.track_future_while_incomplete(confirmed)
        return confirmed

    def mark_for_checkpoint(self, checkpoint_id: int) -> None:
        """Allows the gateway to close for this checkpoint. Raises InvariantViolation unless the ids increase."""
        if checkpoint_id <= self._latest_attempted_checkpoint_id:
            raise InvariantViolation(
                f"a gateway is marked for checkpoint {checkpoint_id} after checkpoint "
                f"{self._latest_attempted_checkpoint_id}"
            )
        self._marked_checkpoint_ids.add(checkpoint_id)
        self._latest_attempted_checkpoint_id = checkpoint_id

    def try_close_gateway(self, checkpoint_id: int) -> bool:
        """Closes the gateway; False if the checkpoint is not marked, because it was aborted meanwhile."""
        if checkpoint_id not in self._marked_checkpoint_ids:
            return False
        self._blocked_events.setdefault(checkpoint_id, [])
        return True

    def open_gateway_and_unmark_checkpoint(self, checkpoint_id: int) -> None:
        """Ends the checkpoint: its events are sent, or belong to the next older one that is still closed.

        Raises InvariantViolation for an id above all marked ones.
        """
        if checkpoint_id > self._latest_attempted_checkpoint_id:
            raise InvariantViolation(
                f"a gateway opens for checkpoint {checkpoint_id}, but the last one that it was marked for is "
                f"{self._latest_attempted_checkpoint_id}"
            )
        if checkpoint_id not in self._marked_checkpoint_ids:
            return
        self._marked_checkpoint_ids.remove(checkpoint_id)
        events = self._blocked_events.pop(checkpoint_id, [])
        older = [other for other in self._blocked_events if other < checkpoint_id]
        if older:
            self._blocked_events[max(older)].extend(events)
        else:
            self._send_all(events)

    def open_gateway_and_unmark_last_checkpoint_if_any(self) -> None:
        """Ends the newest marked checkpoint, because its trigger failed."""
        if self._marked_checkpoint_ids:
            self.open_gateway_and_unmark_checkpoint(max(self._marked_checkpoint_ids))

    def open_gateway_and_unmark_all_checkpoint(self) -> None:
        """Ends all checkpoints: the coordinator is reset. The events go out in the order of the checkpoints."""
        for checkpoint_id in sorted(self._blocked_events):
            self._send_all(self._blocked_events[checkpoint_id])
        self._blocked_events.clear()
        self._marked_checkpoint_ids.clear()

    def _send_all(self, events: Sequence[_BlockedEvent]) -> None:
        for event in events:
            self._send(event)

    def _send(self, blocked: _BlockedEvent) -> None:
        self._access.send_event(blocked.event).forward_to(blocked.sent)

    def _on_confirmed(self, event: OperatorEvent, error: Exception | None) -> None:
        if error is not None and self._access.is_still_running:
            lost = OperatorEventLost(
                "An OperatorEvent from an OperatorCoordinator to a task was lost. Triggering task failover to ensure "
                f"consistency. Event: '{type(event).__name__}', targetTask: {self._access.name}"
            )
            lost.__cause__ = error
            self._access.trigger_task_failover(lost)
