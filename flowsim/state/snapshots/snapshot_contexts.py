"""What an operator gets to restore and to store its state.

Flink: StateInitializationContext, StateSnapshotContext, OperatorStateStore.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from flowsim.state.key_group_range import KeyGroupRange
from flowsim.state.redistribution.operator_state_handle import DistributionMode
from flowsim.state.snapshots.stored_streams import StoredCell, StoredTimer


class OperatorListState(Protocol):
    """A list state of an operator subtask. Flink: ListState of OperatorStateStore."""

    def get(self) -> tuple[object, ...]:
        """Returns the elements, after a restore the restored ones."""
        ...

    def add(self, element: object) -> None: ...

    def update(self, elements: list[object] | tuple[object, ...]) -> None:
        """Replaces all elements; they are values of the closed set."""
        ...


class OperatorBroadcastState(Protocol):
    """A broadcast state, whose changes belong to the operator. Flink: BackendWritableBroadcastState."""

    def get(self) -> tuple[tuple[object, object], ...]:
        """Returns the (key, value) pairs."""
        ...

    def update(self, pairs: tuple[tuple[object, object], ...]) -> None: ...


class OperatorStateStore(Protocol):
    """The operator states of one operator subtask, by name. Flink: OperatorStateStore."""

    def get_list_state(
        self, name: str, mode: DistributionMode = DistributionMode.SPLIT_DISTRIBUTE
    ) -> OperatorListState:
        """Raises BadInput if the restored state has another mode."""
        ...

    def get_broadcast_state(self, name: str) -> OperatorBroadcastState: ...


class RestoredKeyedState(Protocol):
    """The restored keyed state and timers of one operator subtask, by key group in ascending order (rule 12.120)."""

    @property
    def key_groups(self) -> KeyGroupRange: ...

    def descriptions(self) -> dict[str, str]:
        """Returns the kind of each restored state."""
        ...

    def cells(self) -> Iterator[tuple[int, StoredCell]]:
        """Yields the key group and the cell."""
        ...

    def timers(self) -> Iterator[tuple[int, StoredTimer]]: ...


@dataclass(frozen=True, slots=True)
class StateInitializationContext:
    """Flink: StateInitializationContext."""

    operator_state: OperatorStateStore
    keyed_state: RestoredKeyedState | None = None
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
