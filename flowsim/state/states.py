"""The states of user functions: one class per kind of state, named as in PyFlink.

A state refers to the current key at the time of the call, and to the namespace for which it was fetched. Mutable values
are copied when they are stored and when they are read, as if serialized. A value that cannot be a record value raises
ValueNotAllowed, which names the state.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from types import GenericAlias

from flowsim.errors import ValueNotAllowed
from flowsim.state.descriptors import AggregatingStateDescriptor, MapStateDescriptor, ReducingStateDescriptor
from flowsim.state.key_cells import Cells, Place
from flowsim.state.map_entries import MapEntries
from flowsim.values.closed_set import check, copy_value
from flowsim.values.keys import check_map_key
from flowsim.values.types import TypeInformation


class State:
    """The common base of all kinds of state. Flink: State."""

    def __class_getitem__(cls, arguments: object) -> GenericAlias:
        """Takes type arguments, which have no effect."""
        return GenericAlias(cls, arguments)

    __slots__ = ("_cells", "_place")

    def __init__(self, cells: Cells, name: str, namespace: Hashable) -> None:
        self._cells = cells
        self._place: Place = (name, namespace)

    def clear(self) -> None:
        """Clears the state of the current key."""
        self._cells.remove(self._place)

    def _own(self, value: object) -> object:
        """Returns a copy that the state may keep; raises ValueNotAllowed."""
        try:
            check(value)
        except ValueNotAllowed as refused:
            raise ValueNotAllowed(f"state {self._place[0]!r}: {refused}") from None
        return copy_value(value)


class ValueState(State):
    """One value per key. Flink: ValueState."""

    __slots__ = ()

    def value(self) -> object:
        """Returns the value; None if there is no value."""
        return copy_value(self._cells.get(self._place))

    def update(self, value: object) -> None:
        """Replaces the value; None clears it."""
        if value is None:
            self._cells.remove(self._place)
        else:
            self._cells.put(self._place, self._own(value))


class AppendingState(State):
    """A state to which values are added. Flink: AppendingState."""

    __slots__ = ()

    def get(self) -> object:
        """Returns the result of the values added so far."""
        raise NotImplementedError

    def add(self, value: object) -> None:
        """Adds a value."""
        raise NotImplementedError


class MergingState(AppendingState):
    """A state that can take over the content of other namespaces, for merging windows. Flink: InternalMergingState."""

    __slots__ = ()

    def merge_namespaces(self, sources: Iterable[Hashable]) -> None:
        """Moves the current key's content of these namespaces, merged in their order, into this state's namespace."""
        merged: object = None
        for source in sources:
            content = self._cells.remove((self._place[0], source))
            if merged is None:
                merged = content
            elif content is not None:
                merged = self._merge(merged, content)
        if merged is not None:
            self._cells.fold(self._place, merged, self._merge_into)

    def _merge_into(self, present: object, merged: object) -> object:
        return merged if present is None else self._merge(present, merged)

    def _merge(self, first: object, second: object) -> object:
        raise NotImplementedError


class ListState(MergingState):
    """A list per key. Flink: ListState."""

    __slots__ = ()

    def get(self) -> list[object]:
        """Returns the elements; an empty list if there are none."""
        return [copy_value(element) for element in _as_list(self._cells.get(self._place))]

    def __iter__(self) -> Iterator[object]:
        return iter(self.get())

    def add(self, value: object) -> None:
        """Appends an element; raises ValueNotAllowed for None."""
        self._append_one(self._element(value))

    def add_all(self, values: Iterable[object]) -> None:
        """Appends several elements."""
        self._append_all([self._element(value) for value in values])

    def update(self, values: Iterable[object]) -> None:
        """Replaces the list; an empty one clears the state."""
        self._replace([self._element(value) for value in values])

    def _element(self, value: object) -> object:
        if value is None:
            raise ValueNotAllowed(f"state {self._place[0]!r}: a list state cannot contain None")
        return self._own(value)

    def _append_one(self, element: object) -> None:
        present = self._cells.get(self._place)
        if present is None:
            self._cells.put(self._place, [element])
        else:
            _as_list(present).append(element)

    def _append_all(self, elements: list[object]) -> None:
        if elements:
            self._cells.fold(self._place, elements, self._merge_into)

    def _replace(self, elements: list[object]) -> None:
        if elements:
            self._cells.put(self._place, elements)
        else:
            self._cells.remove(self._place)

    def _merge(self, first: object, second: object) -> object:
        _as_list(first).extend(_as_list(second))
        return first


def _as_list(content: object) -> list[object]:
    return content if isinstance(content, list) else []


class MapState(State):
    """A map per key, in the order of a Java HashMap by the declared type of its keys. Flink: MapState.

    Keys are equal if their ``state_key`` values are equal: 1, 1.0 and True are three keys.
    """

    __slots__ = ("_key_type",)

    def __init__(self, cells: Cells, namespace: Hashable, descriptor: MapStateDescriptor) -> None:
        super().__init__(cells, descriptor.name, namespace)
        self._key_type: TypeInformation = descriptor.key_type_info

    def get(self, key: object) -> object:
        """Returns the value of a key; None if there is no value."""
        entries = self._entries()
        return None if entries is None else copy_value(entries.get(key))

    def put(self, key: object, value: object) -> None:
        """Sets the value of a key."""
        own_key, own_value = self._own_key(key), self._own(value)
        self._entries_to_write().put(own_key, own_value)

    def append(self, key: object, value: object) -> None:
        """Appends a value to the list of a key, and creates the list if it is missing; for operators with lists."""
        own = self._own(value)
        entries = self._entries_to_write()
        present = entries.get(key)
        if isinstance(present, list):
            present.append(own)
        else:
            entries.put(self._own_key(key), [own])

    def put_all(self, dict_value: Mapping[object, object]) -> None:
        """Sets the values of several keys."""
        own = [(self._own_key(key), self._own(value)) for key, value in dict_value.items()]
        self._entries_to_write().put_all(own)

    def remove(self, key: object) -> None:
        """Removes a key; after the last key also removes the map."""
        entries = self._entries()
        if entries is not None:
            entries.remove(key)
            if not entries:
                self._cells.remove(self._place)

    def contains(self, key: object) -> bool:
        """True if the key has a value; the value may be None."""
        entries = self._entries()
        return entries is not None and key in entries

    def items(self) -> list[tuple[object, object]]:
        """Returns keys and values."""
        entries = self._entries()
        return [] if entries is None else [(key, copy_value(value)) for key, value in entries]

    def borrowed_between(self, lowest: int, highest: int) -> list[tuple[int, object]]:
        """Returns the items with keys in this range without copies, for an operator that only reads them."""
        entries = self._entries()
        return [] if entries is None else entries.between(lowest, highest)

    def keys(self) -> list[object]:
        """Returns the keys."""
        return [key for key, _ in self.items()]

    def values(self) -> list[object]:
        """Returns the values."""
        return [value for _, value in self.items()]

    def is_empty(self) -> bool:
        """True if there is no key."""
        return not self._entries()

    def __getitem__(self, key: object) -> object:
        return self.get(key)

    def __setitem__(self, key: object, value: object) -> None:
        self.put(key, value)

    def __delitem__(self, key: object) -> None:
        self.remove(key)

    def __contains__(self, key: object) -> bool:
        return self.contains(key)

    def __iter__(self) -> Iterator[object]:
        return iter(self.keys())

    def _own_key(self, key: object) -> object:
        # A list or dict cannot be a key. Check first, so that a rejected call changes nothing.
        check_map_key(key)
        return self._own(key)

    def _entries(self) -> MapEntries | None:
        content = self._cells.get(self._place)
        return content if isinstance(content, MapEntries) else None

    def _entries_to_write(self) -> MapEntries:
        entries = self._entries()
        if entries is None:
            entries = MapEntries(self._key_type)
            self._cells.put(self._place, entries)
        return entries


class ReducingState(MergingState):
    """A value per key; every added value is reduced into this value. Flink: ReducingState."""

    __slots__ = ("_reduce",)

    def __init__(self, cells: Cells, namespace: Hashable, descriptor: ReducingStateDescriptor) -> None:
        super().__init__(cells, descriptor.name, namespace)
        self._reduce: Callable[[object, object], object] = descriptor.get_reduce_function().reduce

    def get(self) -> object:
        """Returns the reduced value; None if nothing was added."""
        return copy_value(self._cells.get(self._place))

    def add(self, value: object) -> None:
        """Reduces a value into the state; None clears it."""
        if value is None:
            self._cells.remove(self._place)
            return
        self._cells.fold(self._place, value, self._reduced)

    def _reduced(self, present: object, value: object) -> object:
        return self._own(value) if present is None else self._merge(present, value)

    def _merge(self, first: object, second: object) -> object:
        return self._own(self._reduce(first, copy_value(second)))


class AggregatingState(MergingState):
    """An accumulator per key; every added value is folded into the accumulator. Flink: AggregatingState."""

    __slots__ = ("_aggregator",)

    def __init__(self, cells: Cells, namespace: Hashable, descriptor: AggregatingStateDescriptor) -> None:
        super().__init__(cells, descriptor.name, namespace)
        self._aggregator = descriptor.get_agg_function()

    def get(self) -> object:
        """Returns the result of the accumulator; None if nothing was added."""
        accumulator = self._cells.get(self._place)
        return None if accumulator is None else self._aggregator.get_result(copy_value(accumulator))

    def add(self, value: object) -> None:
        """Folds a value into the accumulator; None clears it."""
        if value is None:
            self._cells.remove(self._place)
            return
        self._cells.fold(self._place, value, self._aggregated)

    def _aggregated(self, accumulator: object, value: object) -> object:
        if accumulator is None:
            accumulator = self._aggregator.create_accumulator()
        return self._own(self._aggregator.add(copy_value(value), accumulator))

    def _merge(self, first: object, second: object) -> object:
        return self._own(self._aggregator.merge(first, second))
