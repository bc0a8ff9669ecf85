"""The way of operator events from a coordinator to a subtask. Flink: SubtaskGatewayImpl (rules 12.108-12.110)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from flowsim.errors import InvariantViolation

_NO_CHECKPOINT: Final = -(2**63)


class SubtaskGateway:
    """Holds back the events between the snapshot of a coordinator and the snapshot of the subtask.

    So an event is either before both snapshots or after both (rule 12.110). An event is given as the action that sends
    it. If several checkpoints hold events back, a new event belongs to the newest of them. Flink: SubtaskGatewayImpl.
    """

    __slots__ = ("_blocked_events", "_latest_attempted_checkpoint_id", "_marked_checkpoint_ids")

    def __init__(self) -> None:
        self._blocked_events: dict[int, list[Callable[[], None]]] = {}
        """The events of each checkpoint that closed the gateway."""
        self._marked_checkpoint_ids: set[int] = set()
        self._latest_attempted_checkpoint_id = _NO_CHECKPOINT

    def send_event(self, send: Callable[[], None]) -> None:
        """Sends an event, or keeps it until the gateway opens."""
        if self._blocked_events:
            self._blocked_events[max(self._blocked_events)].append(send)
        else:
            send()

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
            _send_all(events)

    def open_gateway_and_unmark_last_checkpoint_if_any(self) -> None:
        """Ends the newest marked checkpoint, because its trigger failed."""
        if self._marked_checkpoint_ids:
            self.open_gateway_and_unmark_checkpoint(max(self._marked_checkpoint_ids))

    def open_gateway_and_unmark_all_checkpoint(self) -> None:
        """Ends all checkpoints: the coordinator is reset. The events go out in the order of the checkpoints."""
        for checkpoint_id in sorted(self._blocked_events):
            _send_all(self._blocked_events[checkpoint_id])
        self._blocked_events.clear()
        self._marked_checkpoint_ids.clear()


def _send_all(events: list[Callable[[], None]]) -> None:
    for send in events:
        send()
