"""What an operator gets to restore and to store its state. Flink: StateInitializationContext, StateSnapshotContext."""

from __future__ import annotations

from dataclasses import dataclass

from flowsim.state.snapshots.operator_state_backend import OperatorStateBackend
from flowsim.state.snapshots.restored_keyed_state import RestoredKeyGroups


@dataclass(frozen=True, slots=True)
class StateInitializationContext:
    """Flink: StateInitializationContext."""

    operator_state: OperatorStateBackend
    keyed_state: RestoredKeyGroups | None = None
    """None: the attempt starts without restored keyed state."""
    restored_checkpoint_id: int | None = None
    """None: nothing is restored."""
    is_new_operator: bool = False
    """True if the restored checkpoint has no operator of this id (rule 12.26)."""

    @property
    def is_restored(self) -> bool:
        """True if the job was restored, also for an operator without state in the checkpoint (rule 12.26)."""
        return self.restored_checkpoint_id is not None

    @property
    def has_operator_state(self) -> bool:
        """True if the operator continues from the checkpoint, even if nothing of its state came to this subtask."""
        return self.is_restored and not self.is_new_operator


@dataclass(frozen=True, slots=True)
class StateSnapshotContext:
    """Flink: StateSnapshotContext."""

    checkpoint_id: int
    timestamp_ms: int
