"""Coordinators of operators, such as the enumerator of a source.

Flink: OperatorCoordinator, OperatorCoordinatorCheckpointContext (rules 12.108-12.114).
"""

from __future__ import annotations

from typing import Protocol

from flowsim.checkpoints.coordination.subtask_gateway import SubtaskGateway
from flowsim.network.completion import Completion
from flowsim.streamrecord.operator_event import OperatorEvent


class OperatorCoordinator(Protocol):
    """Runs in the job manager and exchanges events with the subtasks of its operator. Flink: OperatorCoordinator."""

    def execution_attempt_ready(self, subtask: int, attempt: int, gateway: SubtaskGateway) -> None:
        """A task runs, and can get events."""
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


class OperatorCoordinatorCheckpointContext(Protocol):
    """A coordinator of an operator, for checkpoints. Flink: OperatorCoordinatorCheckpointContext."""

    @property
    def operator_id(self) -> str: ...

    def checkpoint_coordinator(self, checkpoint_id: int, result: Completion[bytes | None]) -> None:
        """Starts a snapshot; completes ``result`` when the state is there and all earlier events have arrived."""
        ...

    def abort_current_triggering(self) -> None:
        """Opens the gateways: the trigger of the newest checkpoint failed."""
        ...

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None: ...

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None: ...

    def reset_to_checkpoint(self, checkpoint_id: int, state: bytes | None) -> None:
        """Restores the coordinator, as ``OperatorCoordinator.reset_to_checkpoint``."""
        ...
