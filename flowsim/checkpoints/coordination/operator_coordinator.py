"""An operator coordinator, as the checkpoint coordinator sees it. Flink: OperatorCoordinatorCheckpointContext."""

from __future__ import annotations

from typing import Protocol

from flowsim.checkpoints.completable_future import CompletableFuture


class OperatorCoordinatorCheckpointContext(Protocol):
    """For example the enumerator of a source (rules 12.108-12.114). Flink: OperatorCoordinatorCheckpointContext."""

    @property
    def operator_id(self) -> str: ...

    def checkpoint_coordinator(self, checkpoint_id: int, result: CompletableFuture[bytes | None]) -> None:
        """Starts a snapshot; completes ``result`` when the state is there and all earlier events have arrived."""
        ...

    def abort_current_triggering(self) -> None:
        """Opens the gateways: the trigger of the newest checkpoint failed."""
        ...

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None: ...

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None: ...

    def reset_to_checkpoint(self, checkpoint_id: int, state: bytes | None) -> None:
        """Restores the coordinator; the id is -1, and the state None, if nothing is complete (rule 12.130)."""
        ...
