"""States with a time to live; elements of a list and values of a map expire individually."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping

from flowsim.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from flowsim.state.key_cells import Cells, Place
from flowsim.state.map_entries import MapEntries
from flowsim.state.states import AggregatingState, ListState, MapState, ReducingState, ValueState
from flowsim.state.ttl_decorator import Clean, TtlDecorator, TtlValue
from flowsim.values.closed_set import copy_value


def _as_ttl_value(content: object) -> TtlValue | None:
    return content if isinstance(content, TtlValue) else None


def _read(cells: Cells, place: Place, ttl: TtlDecorator) -> TtlValue | None:
    """Reads a cell with a single value; None if there is no visible value."""
    ttl.accessed()
    return ttl.read(
        _as_ttl_value(cells.get(place)), lambda touched: cells.put(place, touched), lambda: cells.remove(place)
    )


class TtlValueState(ValueState):
    """A value state whose value expires. Flink: TtlValueState."""

    __slots__ = ("_ttl",)

    def __init__(self, cells: Cells, namespace: Hashable, descriptor: ValueStateDescriptor, ttl: TtlDecorator) -> None:
        super().__init__(cells, descriptor.name, namespace)
        self._ttl = ttl

    def value(self) -> object:
        seen = _read(self._cells, self._place, self._ttl)
        return None if seen is None else copy_value(seen.user_value)

    def update(self, value: object) -> None:
        self._ttl.accessed()
        if value is None:
            self._cells.remove(self._place)
        else:
            self._cells.put(self._place, self._ttl.wrap(self._own(value)))

    def clear(self) -> None:
        super().clear()
        self._ttl.accessed()


class TtlListState(ListState):
    """A list state whose elements expire individually. Flink: TtlListState."""

    __slots__ = ("_ttl",)

    def __init__(self, cells: Cells, namespace: Hashable, descriptor: ListStateDescriptor, ttl: TtlDecorator) -> None:
        super().__init__(cells, descriptor.name, namespace)
        self._ttl = ttl

    def get(self) -> list[object]:
        ttl = self._ttl
        ttl.accessed()
        elements = _ttl_values(self._cells.get(self._place))
        alive = [element for element in elements if not ttl.expired(element)]
        if ttl.update_on_read and alive:
            self._cells.put(self._place, [ttl.wrap(element.user_value) for element in alive])
        if not alive:
            self._cells.remove(self._place)
        return [copy_value(element.user_value) for element in (elements if ttl.return_expired else alive)]

    def add(self, value: object) -> None:
        self._ttl.accessed()
        super().add(value)

    def add_all(self, values: Iterable[object]) -> None:
        self._ttl.accessed()
        super().add_all(values)

    def update(self, values: Iterable[object]) -> None:
        self._ttl.accessed()
        super().update(values)

    def _element(self, value: object) -> object:
        return self._ttl.wrap(super()._element(value))


def _ttl_values(content: object) -> list[TtlValue]:
    return [item for item in content if isinstance(item, TtlValue)] if isinstance(content, list) else []


class TtlMapState(MapState):
    """A map state whose values expire individually. Flink: TtlMapState."""

    __slots__ = ("_ttl",)

    def __init__(self, cells: Cells, namespace: Hashable, descriptor: MapStateDescriptor, ttl: TtlDecorator) -> None:
        super().__init__(cells, namespace, descriptor)
        self._ttl = ttl

    def get(self, key: object) -> object:
        seen = self._read(key)
        return None if seen is None else copy_value(seen.user_value)

    def contains(self, key: object) -> bool:
        return self._read(key) is not None

    def put(self, key: object, value: object) -> None:
        self._ttl.accessed()
        own_key, own_value = self._own_key(key), self._wrapped(value)
        self._entries_to_write().put(own_key, own_value)

    def put_all(self, dict_value: Mapping[object, object]) -> None:
        self._ttl.accessed()
        own = [(self._own_key(key), self._wrapped(value)) for key, value in dict_value.items()]
        # Uses a separate map, as in Flink: its order decides the order of keys in a shared bucket.
        together: MapEntries = MapEntries(self._key_type, expected_size=len(own))
        for key, value in own:
            together.put(key, value)
        self._entries_to_write().put_all(together)

    def remove(self, key: object) -> None:
        self._ttl.accessed()
        super().remove(key)

    def items(self) -> list[tuple[object, object]]:
        self._ttl.accessed()
        entries = self._entries()
        pairs = []
        for key, value in [] if entries is None else entries.items():
            # Flink iterates over the map itself here: an emptied map stays, as an empty map.
            seen = self._ttl.read(
                _as_ttl_value(value),
                lambda touched, key=key: MapState._entries_to_write(self).put(key, touched),  # type: ignore[misc]
                lambda key=key: entries is not None and entries.remove(key),  # type: ignore[misc]
            )
            if seen is not None:
                pairs.append((key, copy_value(seen.user_value)))
        return pairs

    def is_empty(self) -> bool:
        """Returns True if there is no key, live or expired."""
        self._ttl.accessed()
        return super().is_empty()

    def _read(self, key: object) -> TtlValue | None:
        self._ttl.accessed()
        entries = self._entries()
        value = None if entries is None else _as_ttl_value(entries.get(key))
        return self._ttl.read(
            value,
            lambda touched: self._entries_to_write().put(key, touched),
            lambda: MapState.remove(self, key),
        )

    def _wrapped(self, value: object) -> TtlValue:
        return self._ttl.wrap(self._own(value))


class TtlReducingState(ReducingState):
    """A reducing state whose value expires. Flink: TtlReducingState, TtlReduceFunction."""

    __slots__ = ("_ttl",)

    def __init__(
        self, cells: Cells, namespace: Hashable, descriptor: ReducingStateDescriptor, ttl: TtlDecorator
    ) -> None:
        super().__init__(cells, namespace, descriptor)
        self._ttl = ttl

    def get(self) -> object:
        seen = _read(self._cells, self._place, self._ttl)
        return None if seen is None else copy_value(seen.user_value)

    def add(self, value: object) -> None:
        """Reduces a value into the state.

        None only updates the time, which differs from a state without a time to live.
        """
        self._ttl.accessed()
        self._cells.fold(self._place, value, self._reduced)

    def _reduced(self, present: object, value: object) -> object:
        added = self._ttl.wrap(self._own(value))
        return added if present is None else self._merge(present, added)

    def _merge(self, first: object, second: object) -> object:
        ttl = self._ttl
        one, other = ttl.unexpired(_as_ttl_value(first)), ttl.unexpired(_as_ttl_value(second))
        if one is not None and other is not None:
            return ttl.wrap(super()._merge(one, other))
        left = other if one is None else one
        return None if left is None else ttl.wrap(left)


class TtlAggregatingState(AggregatingState):
    """An aggregating state whose accumulator expires. Flink: TtlAggregatingState, TtlAggregateFunction."""

    __slots__ = ("_ttl",)

    def __init__(
        self, cells: Cells, namespace: Hashable, descriptor: AggregatingStateDescriptor, ttl: TtlDecorator
    ) -> None:
        super().__init__(cells, namespace, descriptor)
        self._ttl = ttl

    def get(self) -> object:
        seen = _read(self._cells, self._place, self._ttl)
        return None if seen is None else self._aggregator.get_result(copy_value(seen.user_value))

    def add(self, value: object) -> None:
        self._ttl.accessed()
        super().add(value)

    def _aggregated(self, accumulator: object, value: object) -> object:
        return self._ttl.wrap(super()._aggregated(self._ttl.unexpired(_as_ttl_value(accumulator)), value))

    def _merge(self, first: object, second: object) -> object:
        ttl = self._ttl
        one, other = ttl.unexpired(_as_ttl_value(first)), ttl.unexpired(_as_ttl_value(second))
        if one is not None and other is not None:
            return ttl.wrap(super()._merge(one, other))
        left = other if one is None else one
        return None if left is None else ttl.wrap(left)


def cleaner(descriptor: StateDescriptor, ttl: TtlDecorator) -> Clean:
    """Returns the cleanup function for the content of a cell. Flink: AbstractTtlState.getUnexpiredOrNull."""

    def clean_list(content: object) -> object:
        if not isinstance(content, list) or not content:
            return content
        alive = [element for element in _ttl_values(content) if not ttl.expired(element)]
        return content if len(alive) == len(content) else alive or None

    def clean_map(content: object) -> object:
        if not isinstance(content, MapEntries) or not content:
            return content
        alive: MapEntries = MapEntries(content.key_type)
        for key, value in content.items():
            wrapped = _as_ttl_value(value)
            if wrapped is None or not ttl.expired(wrapped):
                alive.put(key, wrapped)
        return alive if alive else None

    def clean_value(content: object) -> object:
        wrapped = _as_ttl_value(content)
        return None if wrapped is None or ttl.expired(wrapped) else content

    match descriptor:
        case ListStateDescriptor():
            return clean_list
        case MapStateDescriptor():
            return clean_map
        case _:
            return clean_value
