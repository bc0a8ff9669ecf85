"""States that wrap another state of the same kind and record its changes."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping

from flowsim.facts.kinds import StateAction
from flowsim.state.descriptors import AggregatingStateDescriptor, MapStateDescriptor, ReducingStateDescriptor
from flowsim.state.states import AggregatingState, ListState, MapState, ReducingState, ValueState
from flowsim.state.watched_cells import WatchedCells


class ObservedValueState(ValueState):
    """Records writes of a value state, and reads that remove an expired value."""

    __slots__ = ("_state", "_watched")

    def __init__(self, state: ValueState, watched: WatchedCells) -> None:
        super().__init__(watched, *watched.place)
        self._state = state
        self._watched = watched

    def value(self) -> object:
        self._watched.begin()
        value = self._state.value()
        self._watched.record_expired()
        return value

    def update(self, value: object) -> None:
        self._watched.begin()
        self._state.update(value)
        self._watched.record_removed()
        if value is not None:
            self._watched.record(StateAction.PUT, value)

    def clear(self) -> None:
        self._watched.begin()
        self._state.clear()
        self._watched.record_removed()


class ObservedListState(ListState):
    """Records writes of a list state, and reads that remove expired elements."""

    __slots__ = ("_state", "_watched")

    def __init__(self, state: ListState, watched: WatchedCells) -> None:
        super().__init__(watched, *watched.place)
        self._state = state
        self._watched = watched

    def get(self) -> list[object]:
        self._watched.begin()
        elements = self._state.get()
        self._watched.record_expired()
        return elements

    def add(self, value: object) -> None:
        self._watched.begin()
        self._state.add(value)
        self._watched.record(StateAction.ADD, value)

    def add_all(self, values: Iterable[object]) -> None:
        self._watched.begin()
        added = list(values)
        self._state.add_all(added)
        for value in added:
            self._watched.record(StateAction.ADD, value)

    def update(self, values: Iterable[object]) -> None:
        self._watched.begin()
        elements = list(values)
        self._state.update(elements)
        self._watched.record_removed()
        if elements:
            self._watched.record(StateAction.PUT, elements)

    def clear(self) -> None:
        self._watched.begin()
        self._state.clear()
        self._watched.record_removed()

    def merge_namespaces(self, sources: Iterable[Hashable]) -> None:
        self._watched.begin()
        self._state.merge_namespaces(sources)
        self._watched.record_merged()


class ObservedMapState(MapState):
    """Records writes of a map state per entry, and reads that remove expired entries."""

    __slots__ = ("_state", "_watched")

    def __init__(self, state: MapState, watched: WatchedCells, descriptor: MapStateDescriptor) -> None:
        super().__init__(watched, watched.place[1], descriptor)
        self._state = state
        self._watched = watched

    def get(self, key: object) -> object:
        self._watched.begin()
        value = self._state.get(key)
        self._watched.record_expired(key)
        return value

    def contains(self, key: object) -> bool:
        self._watched.begin()
        contained = self._state.contains(key)
        self._watched.record_expired(key)
        return contained

    def items(self) -> list[tuple[object, object]]:
        self._watched.begin()
        items = self._state.items()
        self._watched.record_expired()
        return items

    def borrowed_items(self) -> list[tuple[object, object]]:
        return self._state.borrowed_items()

    def is_empty(self) -> bool:
        return self._state.is_empty()

    def put(self, key: object, value: object) -> None:
        self._watched.begin()
        self._state.put(key, value)
        self._watched.record(StateAction.PUT, (key, value))

    def put_all(self, dict_value: Mapping[object, object]) -> None:
        self._watched.begin()
        self._state.put_all(dict_value)
        for entry in dict_value.items():
            self._watched.record(StateAction.PUT, entry)

    def append(self, key: object, value: object) -> None:
        self._watched.begin()
        self._state.append(key, value)
        self._watched.record(StateAction.ADD, (key, value))

    def remove(self, key: object) -> None:
        self._watched.begin()
        self._state.remove(key)
        if self._watched.has_fewer_entries:
            self._watched.record(StateAction.REMOVE, key)

    def clear(self) -> None:
        self._watched.begin()
        self._state.clear()
        self._watched.record_removed()


class ObservedReducingState(ReducingState):
    """Records the reduced value after every write, and reads that remove an expired value."""

    __slots__ = ("_state", "_watched")

    def __init__(self, state: ReducingState, watched: WatchedCells, descriptor: ReducingStateDescriptor) -> None:
        super().__init__(watched, watched.place[1], descriptor)
        self._state = state
        self._watched = watched

    def get(self) -> object:
        self._watched.begin()
        value = self._state.get()
        self._watched.record_expired()
        return value

    def add(self, value: object) -> None:
        self._watched.begin()
        self._state.add(value)
        self._watched.record_written(StateAction.ADD)

    def clear(self) -> None:
        self._watched.begin()
        self._state.clear()
        self._watched.record_removed()

    def merge_namespaces(self, sources: Iterable[Hashable]) -> None:
        self._watched.begin()
        self._state.merge_namespaces(sources)
        self._watched.record_merged()


class ObservedAggregatingState(AggregatingState):
    """Records the accumulator after every write, and reads that remove an expired accumulator."""

    __slots__ = ("_state", "_watched")

    def __init__(self, state: AggregatingState, watched: WatchedCells, descriptor: AggregatingStateDescriptor) -> None:
        super().__init__(watched, watched.place[1], descriptor)
        self._state = state
        self._watched = watched

    def get(self) -> object:
        self._watched.begin()
        result = self._state.get()
        self._watched.record_expired()
        return result

    def add(self, value: object) -> None:
        self._watched.begin()
        self._state.add(value)
        self._watched.record_written(StateAction.ADD)

    def clear(self) -> None:
        self._watched.begin()
        self._state.clear()
        self._watched.record_removed()

    def merge_namespaces(self, sources: Iterable[Hashable]) -> None:
        self._watched.begin()
        self._state.merge_namespaces(sources)
        self._watched.record_merged()
