"""The operator states of user functions: lists, and maps, without a key."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from flowsim.errors import ValueNotAllowed
from flowsim.state.snapshots.operator_state_backend import HeapBroadcastState, PartitionableListState
from flowsim.values.closed_set import checked_copy, copy_value
from flowsim.values.keys import state_key


class FunctionListState:
    """A list without a key, one per subtask. Flink: ListState."""

    __slots__ = ("_name", "_state")

    def __init__(self, name: str, state: PartitionableListState) -> None:
        self._name = name
        self._state = state

    def get(self) -> list[object]:
        """Returns copies of the elements, after a restore of the restored ones."""
        return [copy_value(element) for element in self._state.get()]

    def __iter__(self) -> Iterator[object]:
        return iter(self.get())

    def add(self, value: object) -> None:
        """Appends an element; raises ValueNotAllowed for None, and for what cannot be a record value."""
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
    """A map without a key, the same in every subtask; 1, 1.0 and True are three keys. Flink: BroadcastState."""

    __slots__ = ("_state",)

    def __init__(self, state: HeapBroadcastState) -> None:
        self._state = state

    def get(self, key: object) -> object:
        """Returns a copy of the value of a key, None if there is none."""
        key_id = state_key(key)
        return next((copy_value(value) for known, value in self._state.get() if state_key(known) == key_id), None)

    def put(self, key: object, value: object) -> None:
        """Sets the value of a key; raises ValueNotAllowed for what cannot be a record value."""
        key_id = state_key(key)
        others = tuple(pair for pair in self._state.get() if state_key(pair[0]) != key_id)
        self._state.update((*others, (checked_copy(key), checked_copy(value))))

    def items(self) -> list[tuple[object, object]]:
        """Returns copies of the keys and values."""
        return [(key, copy_value(value)) for key, value in self._state.get()]
