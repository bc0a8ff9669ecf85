"""What user functions hold in their hands: one class per kind of state, named as in PyFlink.

A state speaks for the current key, whatever that is when it is asked, and for the namespace it was fetched for. What goes
in or comes out is a copy wherever it could be changed, as if it had been serialised; outside the closed value set it
is refused, naming the state.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator

from flowsim.errors import ValueNotAllowed
from flowsim.state.descriptors import AggregatingStateDescriptor, ReducingStateDescriptor
from flowsim.state.key_cells import KeyCells, Place
from flowsim.values import check, copy_value, state_key


class State:
    """What all kinds share. Flink: State."""

    __slots__ = ("_cells", "_place")

    def __init__(self, cells: KeyCells, name: str, namespace: Hashable) -> None:
        self._cells = cells
        self._place: Place = (name, namespace)

    def clear(self) -> None:
        """Forgets the state of the current key."""
        self._cells.remove(self._place)

    def _own(self, value: object) -> object:
        """A copy that the state may keep; raises ValueNotAllowed."""
        try:
            check(value)
        except ValueNotAllowed as refused:
            raise ValueNotAllowed(f"state {self._place[0]!r}: {refused}") from None
        return copy_value(value)


class ValueState(State):
    """One value per key. Flink: ValueState."""

    __slots__ = ()

    def value(self) -> object:
        """The value, None if there is none."""
        return copy_value(self._cells.get(self._place))

    def update(self, value: object) -> None:
        """Replaces the value; None clears it."""
        if value is None:
            self._cells.remove(self._place)
        else:
            self._cells.put(self._place, self._own(value))


class MergingState(State):
    """A state that can take over what other namespaces hold, as merging windows need it. Flink: InternalMergingState."""

    __slots__ = ()

    def merge_namespaces(self, sources: Iterable[Hashable]) -> None:
        """Moves the current key's content of these namespaces, merged in their order, into this state's namespace."""
        merged: object = None
        for source in sources:
            content = self._cells.remove((self._place[0], source))
            if content is not None:
                merged = content if merged is None else self._merge(merged, content)
        if merged is None:
            return
        present = self._cells.get(self._place)
        self._cells.put(self._place, merged if present is None else self._merge(present, merged))

    def _merge(self, first: object, second: object) -> object:
        raise NotImplementedError


class ListState(MergingState):
    """A list per key. Flink: ListState."""

    __slots__ = ()

    def get(self) -> list[object]:
        """The elements, an empty list if there are none."""
        return [copy_value(element) for element in self._elements()]

    def add(self, value: object) -> None:
        """Appends an element; raises ValueNotAllowed for None, which no list state takes."""
        self._append([self._element(value)])

    def add_all(self, values: Iterable[object]) -> None:
        """Appends these elements."""
        self._append([self._element(value) for value in values])

    def update(self, values: Iterable[object]) -> None:
        """Replaces the list; an empty one clears the state."""
        elements = [self._element(value) for value in values]
        self._cells.remove(self._place)
        self._append(elements)

    def _element(self, value: object) -> object:
        if value is None:
            raise ValueNotAllowed(f"state {self._place[0]!r}: a list state takes no None")
        return self._own(value)

    def _elements(self) -> list[object]:
        content = self._cells.get(self._place)
        return content if isinstance(content, list) else []

    def _append(self, elements: list[object]) -> None:
        if elements:
            present = self._elements()
            if present:
                present.extend(elements)
            else:
                self._cells.put(self._place, elements)

    def _merge(self, first: object, second: object) -> object:
        return [*_as_list(first), *_as_list(second)]


def _as_list(content: object) -> list[object]:
    return content if isinstance(content, list) else []


class MapState(State):
    """A map per key, in order of insertion (Flink: in the order of a Java HashMap). Flink: MapState.

    Keys of the map are the same if ``state_key`` says so: 1, 1.0 and True are three.
    """

    __slots__ = ()

    def get(self, key: object) -> object:
        """The value of a key, None if there is none."""
        entry = self._entries().get(state_key(key))
        return None if entry is None else copy_value(entry[1])

    def put(self, key: object, value: object) -> None:
        """Sets the value of a key."""
        self._put_entries([self._entry(key, value)])

    def put_all(self, dict_value: dict[object, object]) -> None:
        """Sets the values of several keys."""
        self._put_entries([self._entry(key, value) for key, value in dict_value.items()])

    def remove(self, key: object) -> None:
        """Forgets a key; with the last key goes the map."""
        entries = self._entries()
        if entries.pop(state_key(key), None) is not None and not entries:
            self._cells.remove(self._place)

    def contains(self, key: object) -> bool:
        """Whether the key has a value, even None."""
        return state_key(key) in self._entries()

    def items(self) -> list[tuple[object, object]]:
        """Keys and values."""
        return [(key, copy_value(value)) for key, value in self._entries().values()]

    def keys(self) -> list[object]:
        """The keys."""
        return [key for key, _ in self._entries().values()]

    def values(self) -> list[object]:
        """The values."""
        return [copy_value(value) for _, value in self._entries().values()]

    def is_empty(self) -> bool:
        """Whether there is no key."""
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

    def _entry(self, key: object, value: object) -> tuple[object, tuple[object, object]]:
        return state_key(key), (self._own(key), self._own(value))

    def _entries(self) -> dict[object, tuple[object, object]]:
        content = self._cells.get(self._place)
        return content if isinstance(content, dict) else {}

    def _put_entries(self, entries: list[tuple[object, tuple[object, object]]]) -> None:
        if entries:
            present = self._entries()
            if not present:
                self._cells.put(self._place, present)
            present.update(entries)


class ReducingState(MergingState):
    """A value per key that every added value is reduced into. Flink: ReducingState."""

    __slots__ = ("_reduce",)

    def __init__(self, cells: KeyCells, namespace: Hashable, descriptor: ReducingStateDescriptor) -> None:
        super().__init__(cells, descriptor.name, namespace)
        self._reduce: Callable[[object, object], object] = descriptor.get_reduce_function().reduce

    def get(self) -> object:
        """The reduced value, None if nothing was added."""
        return copy_value(self._cells.get(self._place))

    def add(self, value: object) -> None:
        """Reduces a value into the state; None clears it."""
        if value is None:
            self._cells.remove(self._place)
            return
        present = self._cells.get(self._place)
        self._cells.put(self._place, self._own(value) if present is None else self._merge(present, value))

    def _merge(self, first: object, second: object) -> object:
        return self._own(self._reduce(first, copy_value(second)))


class AggregatingState(MergingState):
    """An accumulator per key that every added value is folded into. Flink: AggregatingState."""

    __slots__ = ("_aggregator",)

    def __init__(self, cells: KeyCells, namespace: Hashable, descriptor: AggregatingStateDescriptor) -> None:
        super().__init__(cells, descriptor.name, namespace)
        self._aggregator = descriptor.get_agg_function()

    def get(self) -> object:
        """The result of the accumulator, None if nothing was added."""
        accumulator = self._cells.get(self._place)
        return None if accumulator is None else self._aggregator.get_result(copy_value(accumulator))

    def add(self, value: object) -> None:
        """Folds a value into the accumulator; None clears it."""
        if value is None:
            self._cells.remove(self._place)
            return
        accumulator = self._cells.get(self._place)
        if accumulator is None:
            accumulator = self._aggregator.create_accumulator()
        self._cells.put(self._place, self._own(self._aggregator.add(copy_value(value), accumulator)))

    def _merge(self, first: object, second: object) -> object:
        return self._own(self._aggregator.merge(first, second))
