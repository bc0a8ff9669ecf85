"""Keyed state of one operator subtask, on the heap. Flink: HeapKeyedStateBackend, KeyedStateStore."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass

from flowsim.errors import BadInput
from flowsim.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from flowsim.state.key_cells import KeyCells
from flowsim.state.key_group_range import KeyGroupRange
from flowsim.state.states import AggregatingState, ListState, MapState, ReducingState, ValueState
from flowsim.values import state_key


@dataclass(frozen=True, slots=True)
class StateEntry:
    """One cell of keyed state: ``content`` is the value, list or accumulator, or a map's list of (key, value)."""

    name: str
    namespace: Hashable
    key: object
    content: object


class KeyedStateBackend:
    """All keyed states of an operator subtask. Flink: KeyedStateBackend.

    A state is found by its name; its content by (name, namespace, current key). Content is arranged by key group, so
    that it can be taken apart and handed to other subtasks group by group.
    """

    __slots__ = ("_cells", "_declared", "_global", "set_current_key_and_id")

    set_current_key_and_id: Callable[[object, object], None]
    """``set_current_key`` for a caller who has the ``state_key`` already; called for every record and timer."""

    def __init__(self, key_group_range: KeyGroupRange, max_parallelism: int, key_type: str | None = None) -> None:
        self._cells = KeyCells(key_group_range, max_parallelism, key_type)
        self.set_current_key_and_id = self._cells.move_to
        self._declared: dict[str, StateDescriptor] = {}
        self._global = KeyedStateStore(self._cells, self._declared, None)

    @property
    def current_key(self) -> object:
        """The key that all states speak for now."""
        return self._cells.current_key

    def set_current_key(self, key: object, key_id: object = None) -> None:
        """Makes all states speak for ``key``; ``key_id`` is its ``state_key``, if the caller has it already."""
        self._cells.move_to(key, state_key(key) if key_id is None else key_id)

    def store(self, namespace: Hashable = None) -> KeyedStateStore:
        """The door to the states of one namespace; None is the namespace of all that is no window's."""
        return self._global if namespace is None else KeyedStateStore(self._cells, self._declared, namespace)

    def key_groups(self) -> list[int]:
        """The key groups that hold any state, in order."""
        return self._cells.key_groups()

    def entries_of_key_group(self, key_group: int) -> list[StateEntry]:
        """All state of one key group, in the order in which keys and states came into being."""
        return [
            StateEntry(name, namespace, key, list(content.values()) if isinstance(content, dict) else content)
            if isinstance(self._declared[name], MapStateDescriptor)
            else StateEntry(name, namespace, key, content)
            for key, (name, namespace), content in self._cells.of_key_group(key_group)
        ]

    def validate(self) -> None:
        """Raises InvariantViolation unless every key lies in its own key group of this subtask and holds something."""
        self._cells.validate()


class KeyedStateStore:
    """Gives out the states of one namespace by their descriptors. Flink: KeyedStateStore.

    Raises BadInput if a name is used for two kinds of state.
    """

    __slots__ = ("_cells", "_declared", "_namespace")

    def __init__(self, cells: KeyCells, declared: dict[str, StateDescriptor], namespace: Hashable) -> None:
        self._cells = cells
        self._declared = declared
        self._namespace = namespace

    def get_state(self, state_descriptor: ValueStateDescriptor) -> ValueState:
        self._declare(state_descriptor, ValueStateDescriptor)
        return ValueState(self._cells, state_descriptor.name, self._namespace)

    def get_list_state(self, state_descriptor: ListStateDescriptor) -> ListState:
        self._declare(state_descriptor, ListStateDescriptor)
        return ListState(self._cells, state_descriptor.name, self._namespace)

    def get_map_state(self, state_descriptor: MapStateDescriptor) -> MapState:
        self._declare(state_descriptor, MapStateDescriptor)
        return MapState(self._cells, state_descriptor.name, self._namespace)

    def get_reducing_state(self, state_descriptor: ReducingStateDescriptor) -> ReducingState:
        self._declare(state_descriptor, ReducingStateDescriptor)
        return ReducingState(self._cells, self._namespace, state_descriptor)

    def get_aggregating_state(self, state_descriptor: AggregatingStateDescriptor) -> AggregatingState:
        self._declare(state_descriptor, AggregatingStateDescriptor)
        return AggregatingState(self._cells, self._namespace, state_descriptor)

    def _declare(self, descriptor: StateDescriptor, expected: type[StateDescriptor]) -> None:
        if not isinstance(descriptor, expected):
            raise BadInput(f"expected a {expected.__name__}, got {type(descriptor).__name__}")
        declared = self._declared.setdefault(descriptor.name, descriptor)
        if type(declared) is not type(descriptor):
            raise BadInput(
                f"state {descriptor.name!r} was declared with a {type(declared).__name__} before and now with a "
                f"{type(descriptor).__name__}: give the two states different names"
            )
