"""States that wrap another state of the same kind, record its changes, and compare it with its model (law ``state``)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping

from flowsim.facts.kinds import StateAction
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


class ObservedMapState(MapState):
    """Records writes of a map state per entry, and reads that remove expired entries."""

    __slots__ = ("_model", "_namespace", "_state", "_watched")

    def __init__(self, state: MapState, watched: WatchedCells, model: MapModel, descriptor: MapStateDescriptor) -> None:
        super().__init__(watched, watched.place[1], descriptor)
        self._namespace = watched.place[1]
        self._state = state
        self._watched = watched
        self._model = model

    def get(self, key: object) -> object:
        return self._get(key, self._state.get)

    def __getitem__(self, key: object) -> object:
        return self._get(key, self._state.__getitem__)

    def _get(self, key: object, get: Callable[[object], object]) -> object:
        self._begin()
        value = get(key)
        self._watched.record_expired(key)
        self._model.value_read(key, value)
        return value

    def contains(self, key: object) -> bool:
        return self._contains(key, self._state.contains)

    def __contains__(self, key: object) -> bool:
        return self._contains(key, self._state.__contains__)

    def _contains(self, key: object, contains: Callable[[object], bool]) -> bool:
        self._begin()
        contained = contains(key)
        self._watched.record_expired(key)
        self._model.contains_read(key, contained)
        return contained

    def items(self) -> list[tuple[object, object]]:
        self._begin()
        items = self._state.items()
        self._watched.record_expired()
        self._model.items_read(items)
        return items

    def borrowed_items(self) -> list[tuple[object, object]]:
        self._begin()
        items = self._state.borrowed_items()
        self._model.elements_read(items)
        return items

    def keys(self) -> list[object]:
        return self._keys(self._state.keys)

    def __iter__(self) -> Iterator[object]:
        return iter(self._keys(lambda: list(self._state)))

    def _keys(self, read: Callable[[], list[object]]) -> list[object]:
        self._begin()
        keys = read()
        self._watched.record_expired()
        self._model.keys_read(keys)
        return keys

    def values(self) -> list[object]:
        self._begin()
        values = self._state.values()
        self._watched.record_expired()
        self._model.values_read(values)
        return values

    def is_empty(self) -> bool:
        self._begin()
        is_empty = self._state.is_empty()
        self._model.is_empty_read(is_empty)
        return is_empty

    def put(self, key: object, value: object) -> None:
        self._put(key, value, self._state.put)

    def __setitem__(self, key: object, value: object) -> None:
        self._put(key, value, self._state.__setitem__)

    def _put(self, key: object, value: object, put: Callable[[object, object], None]) -> None:
        self._begin()
        put(key, value)
        self._watched.record(StateAction.PUT, (key, value))
        self._model.put(key, value)

    def put_all(self, dict_value: Mapping[object, object]) -> None:
        self._begin()
        self._state.put_all(dict_value)
        for entry in dict_value.items():
            self._watched.record(StateAction.PUT, entry)
        self._model.put_all(dict_value)

    def append(self, key: object, value: object) -> None:
        self._begin()
        self._state.append(key, value)
        self._watched.record(StateAction.ADD, (key, value))
        self._model.appended(key, value)

    def remove(self, key: object) -> None:
        self._remove(key, self._state.remove)

    def __delitem__(self, key: object) -> None:
        self._remove(key, self._state.__delitem__)

    def _remove(self, key: object, remove: Callable[[object], None]) -> None:
        self._begin()
        remove(key)
        if self._watched.has_fewer_entries:
            self._watched.record(StateAction.REMOVE, key)
        self._model.removed(key)

    def clear(self) -> None:
        self._begin()
        self._state.clear()
        self._watched.record_removed()
        self._model.cleared()

    def _begin(self) -> None:
        self._watched.begin()
        self._model.begin(self._namespace)


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
