"""States that wrap another state of the same kind, record its changes, and compare it with its model (law ``state``)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator

from flowsim.facts.kinds import StateAction
from flowsim.state.compared_entries import ComparedEntries
from flowsim.state.descriptors import AggregatingStateDescriptor, MapStateDescriptor, ReducingStateDescriptor
from flowsim.state.folding_state_models import AggregatingModel, ReducingModel
from flowsim.state.map_state_model import MapModel
from flowsim.state.state_model import ListModel, ValueModel
from flowsim.state.states import AggregatingState, ListState, MapState, ReducingState, ValueState
from flowsim.state.watched_cells import WatchedCells


class ObservedValueState(ValueState):
    """Records writes of a value state, and reads that remove an expired value."""

    __slots__ = ("_model", "_namespace", "_state", "_watched")

    def __init__(self, state: ValueState, watched: WatchedCells, model: ValueModel) -> None:
        super().__init__(watched, *watched.place)
        self._namespace = watched.place[1]
        self._state = state
        self._watched = watched
        self._model = model

    def value(self) -> object:
        self._begin()
        value = self._state.value()
        self._watched.record_expired()
        self._model.value_read(value)
        return value

    def update(self, value: object) -> None:
        self._begin()
        self._state.update(value)
        self._watched.record_removed()
        if value is not None:
            self._watched.record(StateAction.PUT, value)
        self._model.updated(value)

    def clear(self) -> None:
        self._begin()
        self._state.clear()
        self._watched.record_removed()
        self._model.cleared()

    def _begin(self) -> None:
        self._watched.begin()
        self._model.begin(self._namespace)


class ObservedListState(ListState):
    """Records writes of a list state, and reads that remove expired elements."""

    __slots__ = ("_model", "_namespace", "_state", "_watched")

    def __init__(self, state: ListState, watched: WatchedCells, model: ListModel) -> None:
        super().__init__(watched, *watched.place)
        self._namespace = watched.place[1]
        self._state = state
        self._watched = watched
        self._model = model

    def get(self) -> list[object]:
        return self._read(self._state.get)

    def __iter__(self) -> Iterator[object]:
        return iter(self._read(lambda: list(self._state)))

    def _read(self, read: Callable[[], list[object]]) -> list[object]:
        self._begin()
        elements = read()
        self._watched.record_expired()
        self._model.list_read(elements)
        return elements

    def add(self, value: object) -> None:
        self._begin()
        self._state.add(value)
        self._watched.record(StateAction.ADD, value)
        self._model.appended([value])

    def add_all(self, values: Iterable[object]) -> None:
        self._begin()
        added = list(values)
        self._state.add_all(added)
        for value in added:
            self._watched.record(StateAction.ADD, value)
        self._model.appended(added)

    def update(self, values: Iterable[object]) -> None:
        self._begin()
        elements = list(values)
        self._state.update(elements)
        self._watched.record_removed()
        if elements:
            self._watched.record(StateAction.PUT, elements)
        self._model.updated(elements)

    def clear(self) -> None:
        self._begin()
        self._state.clear()
        self._watched.record_removed()
        self._model.cleared()

    def merge_namespaces(self, sources: Iterable[Hashable]) -> None:
        merged = list(sources)
        self._watched.begin()
        self._model.begin(self._namespace, merged)
        self._state.merge_namespaces(merged)
        self._watched.record_merged()
        self._model.merged(merged)

    def _begin(self) -> None:
        self._watched.begin()
        self._model.begin(self._namespace)


class ObservedMapState(ComparedEntries, MapState):
    """Records writes of a map state per entry, and reads that remove expired entries."""

    __slots__ = ("_model", "_namespace", "_state", "_watched")

    def __init__(self, state: MapState, watched: WatchedCells, model: MapModel, descriptor: MapStateDescriptor) -> None:
        super().__init__(watched, watched.place[1], descriptor)
        self._namespace = watched.place[1]
        self._state = state
        self._watched = watched
        self._model = model

    def borrowed_items(self) -> list[tuple[object, object]]:
        self._begin()
        items: list[tuple[object, object]] = self._state.borrowed_items()
        self._model.elements_read(items)
        return items

    def append(self, key: object, value: object) -> None:
        self._begin()
        self._state.append(key, value)
        self._changed(StateAction.ADD, (key, value))
        self._model.appended(key, value)

    def _begin(self) -> None:
        self._watched.begin()
        self._model.begin(self._namespace)

    def _was_read(self, *key: object) -> None:
        self._watched.record_expired(*key)

    def _changed(self, action: StateAction, *changes: object) -> None:
        if action is StateAction.CLEAR:
            self._watched.record_removed()
        elif action is not StateAction.REMOVE or self._watched.has_fewer_entries:
            for change in changes:
                self._watched.record(action, change)


class ObservedReducingState(ReducingState):
    """Records the reduced value after every write, and reads that remove an expired value."""

    __slots__ = ("_model", "_namespace", "_state", "_watched")

    def __init__(
        self, state: ReducingState, watched: WatchedCells, model: ReducingModel, descriptor: ReducingStateDescriptor
    ) -> None:
        super().__init__(watched, watched.place[1], descriptor)
        self._namespace = watched.place[1]
        self._state = state
        self._watched = watched
        self._model = model

    def get(self) -> object:
        self._watched.begin()
        self._model.begin(self._namespace)
        value = self._state.get()
        self._watched.record_expired()
        self._model.value_read(value)
        return value

    def add(self, value: object) -> None:
        self._watched.begin()
        self._model.begin_calls(self._namespace, self._model.added(value))
        self._state.add(value)
        self._watched.record_written(StateAction.ADD)
        self._model.folded()

    def clear(self) -> None:
        self._watched.begin()
        self._model.begin(self._namespace)
        self._state.clear()
        self._watched.record_removed()
        self._model.cleared()

    def merge_namespaces(self, sources: Iterable[Hashable]) -> None:
        merged = list(sources)
        self._watched.begin()
        self._model.begin_calls(self._namespace, self._model.merged("reduce", merged), merged)
        self._state.merge_namespaces(merged)
        self._watched.record_merged()
        self._model.folded()


class ObservedAggregatingState(AggregatingState):
    """Records the accumulator after every write, and reads that remove an expired accumulator."""

    __slots__ = ("_model", "_namespace", "_state", "_watched")

    def __init__(
        self,
        state: AggregatingState,
        watched: WatchedCells,
        model: AggregatingModel,
        descriptor: AggregatingStateDescriptor,
    ) -> None:
        super().__init__(watched, watched.place[1], descriptor)
        self._namespace = watched.place[1]
        self._state = state
        self._watched = watched
        self._model = model

    def get(self) -> object:
        self._watched.begin()
        self._model.begin_calls(self._namespace, self._model.result())
        result = self._state.get()
        self._watched.record_expired()
        self._model.result_read(result)
        return result

    def add(self, value: object) -> None:
        self._watched.begin()
        self._model.begin_calls(self._namespace, self._model.added(value))
        self._state.add(value)
        self._watched.record_written(StateAction.ADD)
        self._model.folded()

    def clear(self) -> None:
        self._watched.begin()
        self._model.begin(self._namespace)
        self._state.clear()
        self._watched.record_removed()
        self._model.cleared()

    def merge_namespaces(self, sources: Iterable[Hashable]) -> None:
        merged = list(sources)
        self._watched.begin()
        self._model.begin_calls(self._namespace, self._model.merged("merge", merged), merged)
        self._state.merge_namespaces(merged)
        self._watched.record_merged()
        self._model.folded()
