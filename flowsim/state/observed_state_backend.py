"""A state backend that records every change of keyed state, and compares it with a model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from flowsim.state.declared_states import Declared, DeclaredStates, S
from flowsim.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from flowsim.state.folding_state_models import AggregatingModel, ReducingModel, WatchedAggregator, WatchedReducer
from flowsim.state.key_cells import KeyCells
from flowsim.state.key_group_range import KeyGroupRange
from flowsim.state.keyed_state import KeyedStateBackend, KeyedStateStore
from flowsim.state.map_state_model import MapModel
from flowsim.state.observed_states import (
    ObservedAggregatingState,
    ObservedListState,
    ObservedMapState,
    ObservedReducingState,
    ObservedValueState,
)
from flowsim.state.snapshots.stored_streams import StoredCell
from flowsim.state.state_changes import StateChanges
from flowsim.state.state_factory import STATE_FACTORY, StateFactory
from flowsim.state.state_model import ListModel, StateModel, ValueModel
from flowsim.state.state_models import StateModels
from flowsim.state.state_table import StateTable
from flowsim.state.states import State
from flowsim.state.watched_cells import WatchedCells, WatchedStateTable
from flowsim.values.keys import state_key
from flowsim.values.types import TypeInformation

M = TypeVar("M", bound=StateModel[Any])


class ObservedStateBackend(KeyedStateBackend):
    """Returns observed states, and records the removals of TTL cleanup."""

    __slots__ = ("_changes", "_models")

    def __init__(
        self,
        key_group_range: KeyGroupRange,
        max_parallelism: int,
        key_type: str | None,
        now_ms: Callable[[], int],
        changes: StateChanges,
        factory: StateFactory = STATE_FACTORY,
    ) -> None:
        super().__init__(key_group_range, max_parallelism, key_type, now_ms, factory, self._create_table)
        self._changes = changes
        self._models = StateModels(self._cells, now_ms, changes)
        self._global = self._store(None)

    def store(self, namespace: Hashable = None) -> KeyedStateStore:
        return self._global if namespace is None else self._store(namespace)

    def restore(self, cells: Iterable[tuple[int, StoredCell]], descriptions: Mapping[str, str]) -> None:
        super().restore(cells, descriptions)
        self._models.take_over_all()

    def apply_to_all_keys(
        self, state_descriptor: StateDescriptor, function: Callable[[object, State], object], namespace: Hashable = None
    ) -> None:
        self.store(namespace).get_any(state_descriptor)
        expected = self._models.key_ids(state_descriptor.name, namespace)
        visited = Counter[object]()

        def visit(key: object, state: State) -> object:
            visited[state_key(key)] += 1
            return function(key, state)

        super().apply_to_all_keys(state_descriptor, visit, namespace)
        wrong = [key_id for key_id in expected if not visited[key_id]]
        wrong += [key_id for key_id, count in visited.items() if count > 1]
        self._models.report_visits(state_descriptor.name, namespace, wrong)

    def _store(self, namespace: Hashable) -> ObservedStateStore:
        return ObservedStateStore(self._declared, namespace, self._cells, self._changes, self._models)

    def _create_table(
        self,
        cells: KeyCells,
        key_group_range: KeyGroupRange,
        max_parallelism: int,
        key_type: TypeInformation | None,
    ) -> StateTable:
        return WatchedStateTable(cells, key_group_range, max_parallelism, key_type, self._changes, self._models)


class ObservedStateStore(KeyedStateStore):
    """Returns the observed states of one namespace."""

    __slots__ = ("_cells", "_changes", "_models")

    def __init__(
        self,
        declared: DeclaredStates,
        namespace: Hashable,
        cells: KeyCells,
        changes: StateChanges,
        models: StateModels,
    ) -> None:
        super().__init__(declared, namespace)
        self._cells = cells
        self._changes = changes
        self._models = models

    def get_state(self, state_descriptor: ValueStateDescriptor) -> ObservedValueState:
        watched, model = self._watch(state_descriptor, ValueStateDescriptor, ValueModel)
        return ObservedValueState(self._store_on(watched).get_state(state_descriptor), watched, model)

    def get_list_state(self, state_descriptor: ListStateDescriptor) -> ObservedListState:
        watched, model = self._watch(state_descriptor, ListStateDescriptor, ListModel)
        return ObservedListState(self._store_on(watched).get_list_state(state_descriptor), watched, model)

    def get_map_state(self, state_descriptor: MapStateDescriptor) -> ObservedMapState:
        watched, model = self._watch(state_descriptor, MapStateDescriptor, MapModel)
        state = self._store_on(watched).get_map_state(state_descriptor)
        return ObservedMapState(state, watched, model, state_descriptor)

    def get_reducing_state(self, state_descriptor: ReducingStateDescriptor) -> ObservedReducingState:
        watched, model = self._watch(state_descriptor, ReducingStateDescriptor, ReducingModel)
        effective = self._declare(state_descriptor, ReducingStateDescriptor).effective(state_descriptor)
        function = WatchedReducer(effective.get_reduce_function(), model)
        reported = ReducingStateDescriptor(state_descriptor.name, function, state_descriptor.type_info)
        state = self._store_on(watched, reported).get_reducing_state(reported)
        return ObservedReducingState(state, watched, model, state_descriptor)

    def get_aggregating_state(self, state_descriptor: AggregatingStateDescriptor) -> ObservedAggregatingState:
        watched, model = self._watch(state_descriptor, AggregatingStateDescriptor, AggregatingModel)
        effective = self._declare(state_descriptor, AggregatingStateDescriptor).effective(state_descriptor)
        function = WatchedAggregator(effective.get_agg_function(), model)
        reported = AggregatingStateDescriptor(state_descriptor.name, function, state_descriptor.type_info)
        state = self._store_on(watched, reported).get_aggregating_state(reported)
        return ObservedAggregatingState(state, watched, model, state_descriptor)

    def _watch(
        self, descriptor: StateDescriptor, expected: type[StateDescriptor], kind: type[M]
    ) -> tuple[WatchedCells, M]:
        declared = self._declare(descriptor, expected)
        watched = WatchedCells(declared.cells, self._cells, self._changes, declared.descriptor, self._namespace)
        return watched, self._models.of(declared.descriptor, self._changes.number_of(descriptor.name), kind)

    def _store_on(self, watched: WatchedCells, reported: StateDescriptor | None = None) -> KeyedStateStore:
        return _StoreOnCells(self._declared, self._namespace, watched, reported)


class _StoreOnCells(KeyedStateStore):
    """A state store that returns the wrapped states, which read and write the watched cells."""

    __slots__ = ("_cells", "_reported")

    def __init__(
        self, declared: DeclaredStates, namespace: Hashable, cells: WatchedCells, reported: StateDescriptor | None
    ) -> None:
        super().__init__(declared, namespace)
        self._cells = cells
        self._reported = reported

    def _declare(self, descriptor: S, expected: type[S]) -> Declared[S]:
        declared = replace(super()._declare(descriptor, expected), cells=self._cells)
        return declared if self._reported is None else replace(declared, descriptor=descriptor)
