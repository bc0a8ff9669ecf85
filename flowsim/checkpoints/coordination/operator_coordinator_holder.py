"""Connects a coordinator of an operator with checkpoints and tasks. Flink: OperatorCoordinatorHolder (rules 12.108, 12.109)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flowsim.checkpoints.coordination.operator_coordinator import OperatorCoordinator
from flowsim.checkpoints.coordination.subtask_gateway import (
    NO_CHECKPOINT_YET,
    IncompleteFuturesTracker,
    OperatorEventLost,
    SubtaskAccess,
    SubtaskGateway,
)
from flowsim.checkpoints.main_thread_executor import MainThreadExecutor
from flowsim.errors import FlowsimError, InvariantViolation
from flowsim.network.completion import Completion
from flowsim.streamrecord.operator_event import AcknowledgeCheckpointEvent, OperatorEvent


class OperatorCoordinatorHolder:
    """Marks, closes and opens the gateways of a coordinator around its snapshots. Flink: OperatorCoordinatorHolder.

    Invariant: all gateways are closed for a checkpoint, or none is.
    """

    __slots__ = (
        "operator_id",
        "_coordinator",
        "_gateways",
        "_latest_checkpoint_id",
        "_main_thread",
        "_unconfirmed_events",
    )

    def __init__(self, operator_id: str, coordinator: OperatorCoordinator, main_thread: MainThreadExecutor) -> None:
        self.operator_id = operator_id
        self._coordinator = coordinator
        self._main_thread = main_thread
        self._gateways: dict[int, SubtaskGateway] = {}
        self._latest_checkpoint_id = NO_CHECKPOINT_YET
        self._unconfirmed_events = IncompleteFuturesTracker()

    def on_attempt_deployed(self, subtask: int, access: SubtaskAccess) -> None:
        """A new attempt of a subtask gets a gateway, which is open.

        A checkpoint that began before may end later, so the gateway must know its id.
        """
        self._gateways[subtask] = SubtaskGateway(access, self._unconfirmed_events, self._latest_checkpoint_id)

    def on_attempt_running(self, subtask: int, attempt: int) -> None:
        """The attempt can get events."""
        self._coordinator.execution_attempt_ready(subtask, attempt, self._gateways[subtask])

    def on_attempt_failed(self, subtask: int, attempt: int, reason: BaseException | None) -> None:
        self._coordinator.execution_attempt_failed(subtask, attempt, reason)

    def subtask_reset(self, subtask: int, access: SubtaskAccess, checkpoint_id: int) -> None:
        """A restarted subtask is restored from a checkpoint; -1: from its initial state (rule 12.130)."""
        self.on_attempt_deployed(subtask, access)
        self._coordinator.subtask_reset(subtask, checkpoint_id)

    def handle_event_from_operator(self, subtask: int, attempt: int, event: OperatorEvent) -> None:
        """Opens the gateway of a subtask that has taken its snapshot; other events are the coordinator's."""
        if isinstance(event, AcknowledgeCheckpointEvent):
            self._gateways[subtask].open_gateway_and_unmark_checkpoint(event.checkpoint_id)
        else:
            self._coordinator.handle_event_from_operator(subtask, attempt, event)

    def checkpoint_coordinator(self, checkpoint_id: int, result: Completion[bytes | None]) -> None:
        self._main_thread.execute(lambda: self._checkpoint_coordinator(checkpoint_id, result))

    def _checkpoint_coordinator(self, checkpoint_id: int, result: Completion[bytes | None]) -> None:
        snapshot: Completion[bytes | None] = Completion()
        snapshot.when_complete(
            lambda state, error: self._main_thread.execute(
                lambda: self._on_snapshot(checkpoint_id, result, state, error)
            )
        )
        self._latest_checkpoint_id = checkpoint_id
        self._for_all_gateways(lambda gateway: gateway.mark_for_checkpoint(checkpoint_id))
        self._coordinator.checkpoint_coordinator(checkpoint_id, snapshot)

    def _on_snapshot(
        self,
        checkpoint_id: int,
        result: Completion[bytes | None],
        state: bytes | None,
        error: Exception | None,
    ) -> None:
        if error is not None:
            result.complete_exceptionally(error)
        elif self._close_gateways(checkpoint_id):
            self._complete_once_events_are_confirmed(result, state)
        else:
            # The checkpoint was aborted meanwhile.
            result.complete_exceptionally(FlowsimError("Cannot close gateway"))

    def _close_gateways(self, checkpoint_id: int) -> bool:
        closed = [gateway.try_close_gateway(checkpoint_id) for gateway in self._gateways.values()]
        if any(closed) and not all(closed):
            raise InvariantViolation(
                f"some gateways of {self.operator_id} close for checkpoint {checkpoint_id}, some do not"
            )
        return all(closed)

    def _complete_once_events_are_confirmed(self, result: Completion[bytes | None], state: bytes | None) -> None:
        """Completes the snapshot when the tasks have all events before it; one that is lost fails it."""
        unconfirmed = self._unconfirmed_events.get_current_incomplete_and_reset()
        if not unconfirmed:
            result.complete(state)
            return
        for event in unconfirmed:
            event.when_complete(lambda _, error: _on_event_confirmed(unconfirmed, result, state, error))

    def abort_current_triggering(self) -> None:
        self._main_thread.execute(
            lambda: self._for_all_gateways(SubtaskGateway.open_gateway_and_unmark_last_checkpoint_if_any)
        )

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
        self._for_all_gateways(lambda gateway: gateway.open_gateway_and_unmark_checkpoint(checkpoint_id))
        notify(checkpoint_id)

    def reset_to_checkpoint(self, checkpoint_id: int, state: bytes | None) -> None:
        self._for_all_gateways(SubtaskGateway.open_gateway_and_unmark_all_checkpoint)
        self._coordinator.reset_to_checkpoint(checkpoint_id, state)

    def _for_all_gateways(self, action: Callable[[SubtaskGateway], None]) -> None:
        for gateway in self._gateways.values():
            action(gateway)


def _on_event_confirmed(
    events: Sequence[Completion[None]],
    result: Completion[bytes | None],
    state: bytes | None,
    error: Exception | None,
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
