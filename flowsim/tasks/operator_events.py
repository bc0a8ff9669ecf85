"""Sends the events of a task's operators to their coordinators. Flink: OperatorEventDispatcher."""

from __future__ import annotations

from typing import Protocol

from flowsim.errors import InvariantViolation
from flowsim.network.outbox import Outbox
from flowsim.streamrecord.operator_event import OperatorEvent


class OperatorEventGateway(Protocol):
    """The way from a task to the coordinators of its operators.

    A Protocol, because tasks do not import the cluster. Flink: TaskOperatorEventGateway.
    """

    def send_operator_event_to_coordinator(self, operator_id: str, event: OperatorEvent) -> None: ...


class OperatorEvents:
    """Lets the events of a task leave with its batch (decision D4). Flink: OperatorEventDispatcher."""

    __slots__ = ("gateway", "_task", "_outbox")

    def __init__(self, task: str, outbox: Outbox) -> None:
        """``task``: its name, for errors."""
        self.gateway: OperatorEventGateway | None = None
        """None: no operator of the task has a coordinator."""
        self._task = task
        self._outbox = outbox

    def send(self, operator_id: str, event: OperatorEvent) -> None:
        """Sends an event to the coordinator of an operator."""
        gateway = self.gateway
        if gateway is None:
            raise InvariantViolation(f"{self._task} sends {type(event).__name__}, but has no gateway to coordinators")
        if self._outbox.sealed:
            self._outbox.hold_report(lambda: gateway.send_operator_event_to_coordinator(operator_id, event))
        else:
            gateway.send_operator_event_to_coordinator(operator_id, event)
