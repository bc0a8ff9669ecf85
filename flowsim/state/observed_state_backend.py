"""A state backend that records every change of keyed state."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace
from functools import partial

from flowsim.state.declared_states import Declared, DeclaredStates, S
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
from flowsim.state.keyed_state import KeyedStateBackend, KeyedStateStore
from flowsim.state.observed_states import (
    ObservedAggregatingState,
    ObservedListState,
    ObservedMapState,
    ObservedReducingState,
    ObservedValueState,
)
from flowsim.state.state_changes import StateChanges
from flowsim.state.watched_cells import WatchedCells, WatchedStateTable


class ObservedStateBackend(KeyedStateBackend):
    """Returns observed states, and records the removals of TTL cleanup."""

    __slots__ = ("_changes",)

    def __init__(
        self,
        key_group_range: KeyGroupRange,
        max_parallelism: int,
        key_type: str | None,
        now_ms: Callable[[], int],
        changes: StateChanges,
    ) -> None:
        create_table = partial(WatchedStateTable, changes=changes)
        super().__init__(key_group_range, max_parallelism, key_type, now_ms, create_table)
        self._changes = changes
        self._global = ObservedStateStore(self._declared, None, self._cells, changes)

    def store(self, namespace: Hashable = None) -> KeyedStateStore:
        if namespace is None:
            return self._global
        return ObservedStateStore(self._declared, namespace, self._cells, self._changes)


class ObservedStateStore(KeyedStateStore):
    """Returns the observed states of one namespace."""

    __slots__ = ("_cells", "_changes")

    def __init__(self, declared: DeclaredStates, namespace: Hashable, cells: KeyCells, changes: StateChanges) -> None:
        super().__init__(declared, namespace)
        self._cells = cells
        self._changes = changes

    def get_state(self, state_descriptor: ValueStateDescriptor) -> ObservedValueState:
        watched = self._watch(state_descriptor, ValueStateDescriptor)
        return ObservedValueState(self._store_on(watched).get_state(state_descriptor), watched)

    def get_list_state(self, state_descriptor: ListStateDescriptor) -> ObservedListState:
        watched = self._watch(state_descriptor, ListStateDescriptor)
        return ObservedListState(self._store_on(watched).get_list_state(state_descriptor), watched)

    def get_map_state(self, state_descriptor: MapStateDescriptor) -> ObservedMapState:
        watched = self._watch(state_descriptor, MapStateDescriptor)
        return ObservedMapState(self._store_on(watched).get_map_state(state_descriptor), watched, state_descriptor)

    def get_reducing_state(self, state_descriptor: ReducingStateDescriptor) -> ObservedReducingState:
        watched = self._watch(state_descriptor, ReducingStateDescriptor)
        state = self._store_on(watched).get_reducing_state(state_descriptor)
        return ObservedReducingState(state, watched, state_descriptor)

    def get_aggregating_state(self, state_descriptor: AggregatingStateDescriptor) -> ObservedAggregatingState:
        watched = self._watch(state_descriptor, AggregatingStateDescriptor)
        state = self._store_on(watched).get_aggregating_state(state_descriptor)
        return ObservedAggregatingState(state, watched, state_descriptor)

    def _watch(self, descriptor: StateDescriptor, expected: type[StateDescriptor]) -> WatchedCells:
        declared = self._declare(descriptor, expected)
        return WatchedCells(declared.cells, self._cells, self._changes, declared.descriptor, self._namespace)

    def _store_on(self, watched: WatchedCells) -> KeyedStateStore:
        return _StoreOnCells(self._declared, self._namespace, watched)


class _StoreOnCells(KeyedStateStore):
    """A state store that returns the wrapped states, which read and write the watched cells."""

    __slots__ = ("_cells",)

    def __init__(self, declared: DeclaredStates, namespace: Hashable, cells: WatchedCells) -> None:
        super().__init__(declared, namespace)
        self._cells = cells

    def _declare(self, descriptor: S, expected: type[S]) -> Declared[S]:
        return replace(super()._declare(descriptor, expected), cells=self._cells)
