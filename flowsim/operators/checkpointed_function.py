"""User functions with operator state. Flink: CheckpointedFunction, FunctionInitializationContext."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator

from flowsim.errors import ValueNotAllowed
from flowsim.state.descriptors import ListStateDescriptor, MapStateDescriptor
from flowsim.state.keyed_state import KeyedStateStore
from flowsim.state.redistribution.operator_state_handle import DistributionMode
from flowsim.state.snapshots.snapshot_contexts import (
    OperatorBroadcastState,
    OperatorListState,
    OperatorStateStore,
    StateInitializationContext,
    StateSnapshotContext,
)
from flowsim.values.closed_set import checked_copy, copy_value


class FunctionListState:
    """A list without a key, one per subtask. Flink: ListState."""

    __slots__ = ("_name", "_state")

    def __init__(self, name: str, state: OperatorListState) -> None:
        self._name = name
        self._state = state

    def get(self) -> list[object]:
        """Returns copies of the elements, after a restore of the restored ones."""
        return [copy_value(element) for element in self._state.get()]

    def __iter__(self) -> Iterator[object]:
        return iter(self.get())

    def add(self, value: object) -> None:
        """Appends an element; raises ValueNotAllowed for None, and for a value outside the closed set."""
        self._state.add(self._element(value))

    def add_all(self, values: Iterable[object]) -> None:
        """Appends several elements."""
        for value in values:
            self.add(value)

    def update(self, values: Iterable[object]) -> None:
        """Replaces the list."""
        self._state.update([self._element(value) for value in values])

    def clear(self) -> None:
        """Removes all elements."""
        self._state.update([])

    def _element(self, value: object) -> object:
        if value is None:
            raise ValueNotAllowed(f"state {self._name!r}: a list state cannot contain None")
        return checked_copy(value)


class FunctionBroadcastState:
    """A map without a key, the same in every subtask. Flink: BroadcastState."""

    __slots__ = ("_state",)

    def __init__(self, state: OperatorBroadcastState) -> None:
        self._state = state

    def get(self, key: object) -> object:
        """Returns a copy of the value of a key, None if there is none."""
        return next((copy_value(value) for known, value in self._state.get() if known == key), None)

    def put(self, key: object, value: object) -> None:
        """Sets the value of a key; raises ValueNotAllowed outside the closed set."""
        others = tuple(pair for pair in self._state.get() if pair[0] != key)
        self._state.update((*others, (checked_copy(key), checked_copy(value))))

    def items(self) -> list[tuple[object, object]]:
        """Returns copies of the keys and values."""
        return [(key, copy_value(value)) for key, value in self._state.get()]


class FunctionOperatorStateStore:
    """Operator state by name. Flink: OperatorStateStore."""

    __slots__ = ("_store",)

    def __init__(self, store: OperatorStateStore) -> None:
        self._store = store

    def get_list_state(self, state_descriptor: ListStateDescriptor) -> FunctionListState:
        """Returns a list whose elements are distributed to the subtasks when the parallelism changes (rule 12.24)."""
        name = state_descriptor.name
        return FunctionListState(name, self._store.get_list_state(name))

    def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> FunctionBroadcastState:
        """Returns a map of which every subtask has the same entries (rule 12.25)."""
        return FunctionBroadcastState(self._store.get_broadcast_state(state_descriptor.name))

    def get_union_list_state(self, state_descriptor: ListStateDescriptor) -> FunctionListState:
        """Returns a list of which every subtask restores all elements (rule 12.25)."""
        name = state_descriptor.name
        return FunctionListState(name, self._store.get_list_state(name, DistributionMode.UNION))


class FunctionInitializationContext:
    """What a function gets to declare and to restore its state. Flink: FunctionInitializationContext."""

    __slots__ = ("_context", "_keyed_states")

    def __init__(self, context: StateInitializationContext, keyed_states: KeyedStateStore | None = None) -> None:
        self._context = context
        self._keyed_states = keyed_states

    def is_restored(self) -> bool:
        """Returns True if the job was restored, also for a function without state in the checkpoint (rule 12.26)."""
        return self._context.is_restored

    def get_restored_checkpoint_id(self) -> int | None:
        """Returns the id of the restored checkpoint; None if nothing was restored."""
        return self._context.restored_checkpoint_id

    def get_operator_state_store(self) -> FunctionOperatorStateStore:
        return FunctionOperatorStateStore(self._context.operator_state)

    def get_keyed_state_store(self) -> KeyedStateStore | None:
        """Returns the states of keys, to be declared here and used with each record; None behind no ``key_by``."""
        return self._keyed_states


class FunctionSnapshotContext:
    """The checkpoint for which a function stores its state. Flink: FunctionSnapshotContext."""

    __slots__ = ("_context",)

    def __init__(self, context: StateSnapshotContext) -> None:
        self._context = context

    def get_checkpoint_id(self) -> int:
        return self._context.checkpoint_id

    def get_checkpoint_timestamp(self) -> int:
        """Returns the time of the trigger in ms."""
        return self._context.timestamp_ms


class CheckpointedFunction(ABC):
    """A user function with operator state. Flink: CheckpointedFunction."""

    @abstractmethod
    def initialize_state(self, context: FunctionInitializationContext) -> None:
        """Declares the states and reads restored ones; called before ``open``, also without checkpoints."""

    @abstractmethod
    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        """Brings the states up to date for a checkpoint; an exception fails the task (rule 12.7)."""


def initialize_function(
    function: object, context: StateInitializationContext, keyed_states: KeyedStateStore | None = None
) -> None:
    """Lets a function initialize its state, if it has any."""
    if isinstance(function, CheckpointedFunction):
        function.initialize_state(FunctionInitializationContext(context, keyed_states))


def snapshot_function(function: object, context: StateSnapshotContext) -> None:
    """Lets a function store its state, if it has any."""
    if isinstance(function, CheckpointedFunction):
        function.snapshot_state(FunctionSnapshotContext(context))
