"""An operator coordinator that delivers its snapshots when a test says so."""

from __future__ import annotations

from collections.abc import Callable

from flowsim.checkpoints.coordination.operator_coordinator_holder import OperatorCoordinatorHolder
from flowsim.network.completion import Completion


class ScriptedCoordinator(OperatorCoordinatorHolder):
    """The calls are passed to ``on_call`` as text."""

    def __init__(self, number: int, on_call: Callable[[str], None] = lambda _: None) -> None:
        self.operator_id = f"coordinator {number}"
        self.on_call = on_call
        self._results: list[Completion[bytes | None]] = []

    def deliver(self, outcome: str) -> None:
        """Ends the oldest open snapshot: "state", "error" or "io", an input or output error."""
        if self._results:
            result = self._results.pop(0)
            if outcome == "state":
                result.complete(b"\1")
            else:
                result.complete_exceptionally(OSError("scripted") if outcome == "io" else ValueError("scripted"))

    def checkpoint_coordinator(self, checkpoint_id: int, result: Completion[bytes | None]) -> None:
        self.on_call(f"{self.operator_id} snapshot {checkpoint_id}")
        self._results.append(result)

    def abort_current_triggering(self) -> None:
        self.on_call(f"{self.operator_id} abort_triggering")

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        self.on_call(f"{self.operator_id} complete {checkpoint_id}")

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        self.on_call(f"{self.operator_id} aborted {checkpoint_id}")

    def reset_to_checkpoint(self, checkpoint_id: int, state: bytes | None) -> None:
        self.on_call(f"{self.operator_id} reset {checkpoint_id} {state!r}")
