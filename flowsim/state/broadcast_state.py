"""State without keys; every subtask has a copy. Flink: HeapBroadcastState."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import GenericAlias
from typing import NoReturn

from flowsim.errors import BadInput, ValueNotAllowed
from flowsim.state.map_entries import MapEntries
from flowsim.values.closed_set import check, copy_value
from flowsim.values.keys import check_map_key


class ReadOnlyBroadcastState:
    """Broadcast state for the non-broadcast side: every change raises BadInput. Flink: ReadOnlyBroadcastState.

    Entries have the order of a Java HashMap, so all subtasks with the same updates have the same order.
    """

    def __class_getitem__(cls, arguments: object) -> GenericAlias:
        """Takes type arguments, which have no effect."""
        return GenericAlias(cls, arguments)

    __slots__ = ("_entries", "_name")

    def __init__(self, name: str, entries: MapEntries) -> None:
        self._name = name
        self._entries = entries

    def get(self, key: object) -> object:
        """Returns the value of a key, None if there is none."""
        return copy_value(self._entries.get(key))

    def contains(self, key: object) -> bool:
        """Returns True if the key has a value, even None."""
        return key in self._entries

    def items(self) -> list[tuple[object, object]]:
        """Returns the keys and values."""
        return [(key, copy_value(value)) for key, value in self._entries]

    def keys(self) -> list[object]:
        """Returns the keys."""
        return [key for key, _ in self._entries]

    def values(self) -> list[object]:
        """Returns the values."""
        return [value for _, value in self.items()]

    def is_empty(self) -> bool:
        """Returns True if there is no key."""
        return not self._entries

    def put(self, key: object, value: object) -> None:
        self._refuse()

    def put_all(self, dict_value: Mapping[object, object]) -> None:
        self._refuse()

    def remove(self, key: object) -> None:
        self._refuse()

    def clear(self) -> None:
        self._refuse()

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

    def _refuse(self) -> NoReturn:
        raise BadInput(
            f"broadcast state {self._name!r} can only be changed in process_broadcast_element: the subtasks see different "
            "records on the other input, and their copies would become different"
        )


class BroadcastState(ReadOnlyBroadcastState):
    """Broadcast state for the broadcast side, which may change it. Flink: BroadcastState.

    Values are copied in and out; a value that cannot be a record value raises ValueNotAllowed, which names the state.
    """

    __slots__ = ()

    def put(self, key: object, value: object) -> None:
        """Sets the value of a key."""
        self._entries.put(self._own_key(key), self._own(value))

    def put_all(self, dict_value: Mapping[object, object]) -> None:
        """Sets the values of several keys."""
        self._entries.put_all([(self._own_key(key), self._own(value)) for key, value in dict_value.items()])

    def remove(self, key: object) -> None:
        """Removes a key."""
        self._entries.remove(key)

    def clear(self) -> None:
        """Removes all keys."""
        self._entries.clear()

    def _own_key(self, key: object) -> object:
        check_map_key(key)
        return self._own(key)

    def _own(self, value: object) -> object:
        try:
            check(value)
        except ValueNotAllowed as refused:
            raise ValueNotAllowed(f"broadcast state {self._name!r}: {refused}") from None
        return copy_value(value)
