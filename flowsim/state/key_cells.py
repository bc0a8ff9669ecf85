"""Stores keyed state: the cells of each key, by key group. Flink: StateTable, InternalKeyContext."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Final, Protocol

from mypy_extensions import mypyc_attr

from flowsim.errors import BadInput, InvariantViolation
from flowsim.state.key_group_range import KeyGroupRange
from flowsim.state.key_group_range_assignment import assign_to_key_group
from flowsim.values.keys import state_key

Place = tuple[str, Hashable]
"""The identity of a cell of a key: the name of the state and the namespace (a window, or None outside windows)."""

_NOTHING: Final[dict[Place, object]] = {}
"""The cells of a key without content; never changed."""


class Cells(Protocol):
    """The storage of an operator's states: the cells of the current key, by state name and namespace."""

    def get(self, place: Place, /) -> object: ...

    def put(self, place: Place, content: object, /) -> None: ...

    def fold(self, place: Place, value: object, function: Callable[[object, object], object], /) -> None: ...

    def remove(self, place: Place, /) -> object: ...


def _no_key_set(place: Place) -> BadInput:
    return BadInput(
        f"state {place[0]!r}: no key is set: keyed state is available only while the operator processes a "
        "record or a timer of a key, for example not in open()"
    )


_NO_KEY_SET: Final[dict[Place, object]] = {}
"""The cells before any key is set; never read or changed."""


# Nothing in it refers to it, so Python's search for garbage need not know it.
@mypyc_attr(acyclic=True)
class _HeldKey:
    __slots__ = ("key", "key_group", "cells")

    def __init__(self, key: object, key_group: int) -> None:
        self.key = key
        self.key_group = key_group
        self.cells: dict[Place, object] = {}


class KeyCells:
    """All cells of one operator subtask, read and written at the current key.

    Invariants: a key is stored only while it has cells. It is stored in its own key group, which is in the subtask's
    range.
    """

    __slots__ = (
        "current_key",
        "current_key_id",
        "_cells",
        "_groups",
        "_held",
        "_key_type",
        "_max_parallelism",
        "_range",
    )

    current_key: object
    current_key_id: object

    def __init__(self, key_group_range: KeyGroupRange, max_parallelism: int, key_type: str | None) -> None:
        self._range = key_group_range
        self._max_parallelism = max_parallelism
        self._key_type = key_type
        self._held: dict[object, _HeldKey] = {}
        self._groups: dict[int, dict[object, _HeldKey]] = {}
        self.current_key = None
        self.current_key_id = None
        self._cells: dict[Place, object] = _NO_KEY_SET

    def move_to(self, key: object, key_id: object) -> None:
        """Makes ``key`` the current key; ``key_id`` is its ``state_key``."""
        self.current_key = key
        self.current_key_id = key_id
        held_key = self._held.get(key_id)
        self._cells = _NOTHING if held_key is None else held_key.cells

    def leave(self) -> None:
        """Unsets the current key."""
        self.current_key = self.current_key_id = None
        self._cells = _NO_KEY_SET

    @property
    def has_current_key(self) -> bool:
        return self._cells is not _NO_KEY_SET

    def key_for(self, place: Place) -> object:
        """Returns the current key; raises BadInput, which names the state, if no key is set."""
        if self._cells is _NO_KEY_SET:
            raise _no_key_set(place)
        return self.current_key

    def get(self, place: Place) -> object:
        """Returns the content of a cell of the current key; None for an empty cell."""
        cells = self._cells
        if cells is _NO_KEY_SET:
            raise _no_key_set(place)
        return cells.get(place)

    def put(self, place: Place, content: object) -> None:
        """Sets a cell of the current key; raises ValueNotAllowed if the current key is None."""
        if self._cells is _NOTHING or self._cells is _NO_KEY_SET:
            self.key_for(place)
            self._cells = self._hold_current_key()
        self._cells[place] = content

    def fold(self, place: Place, value: object, function: Callable[[object, object], object]) -> None:
        """Replaces the content of a cell by ``function(content, value)``; the result None empties the cell."""
        content = function(self.get(place), value)
        if content is None:
            self.remove(place)
        else:
            self.put(place, content)

    def remove(self, place: Place) -> object:
        """Empties a cell of the current key and returns its content; None if the cell was empty."""
        self.key_for(place)
        content = self._cells.pop(place, None)
        if not self._cells and self._cells is not _NOTHING:
            held_key = self._held.pop(self.current_key_id)
            del self._groups[held_key.key_group][self.current_key_id]
            self._cells = _NOTHING
        return content

    def restore(self, key_group: int, key: object, place: Place, content: object) -> None:
        """Adds a stored cell of any key; the key group is known, so that the key is not hashed again."""
        key_id = state_key(key)
        held_key = self._held.get(key_id)
        if held_key is None:
            held_key = self._held[key_id] = _HeldKey(key, key_group)
            self._groups.setdefault(key_group, {})[key_id] = held_key
        held_key.cells[place] = content

    def get_of(self, key_id: object, place: Place) -> object:
        """Returns the content of a cell of any key; None for an empty cell."""
        held_key = self._held.get(key_id)
        return None if held_key is None else held_key.cells.get(place)

    def put_of(self, key_id: object, place: Place, content: object) -> None:
        """Replaces the content of a cell of any key."""
        self._held[key_id].cells[place] = content

    def remove_of(self, key_id: object, place: Place) -> None:
        """Empties a cell of any key."""
        if key_id == self.current_key_id:
            self.remove(place)
            return
        held_key = self._held.get(key_id)
        if held_key is not None and held_key.cells.pop(place, None) is not None and not held_key.cells:
            del self._held[key_id]
            del self._groups[held_key.key_group][key_id]

    def key_groups(self) -> list[int]:
        """Returns the key groups with content, in order."""
        return sorted(group for group, keys in self._groups.items() if keys)

    def of_key_group(self, key_group: int) -> Iterator[tuple[object, Place, object]]:
        """Returns key, place and content of every cell of a key group, in the order of their creation."""
        for held_key in self._groups.get(key_group, {}).values():
            for place, content in held_key.cells.items():
                yield held_key.key, place, content

    def validate(self) -> None:
        """Raises InvariantViolation unless the invariants hold."""
        if sum(map(len, self._groups.values())) != len(self._held):
            raise InvariantViolation("the number of keys in the key groups differs from the number of keys")
        for key_id, held_key in self._held.items():
            at_home = assign_to_key_group(held_key.key, self._max_parallelism, self._key_type) == held_key.key_group
            filed = self._groups[held_key.key_group].get(key_id) is held_key and held_key.key_group in self._range
            if not (at_home and filed and held_key.cells and state_key(held_key.key) == key_id):
                raise InvariantViolation(
                    f"key {held_key.key!r:.60} is held in key group {held_key.key_group}, or without cells"
                )

    def _hold_current_key(self) -> dict[Place, object]:
        key_group = assign_to_key_group(self.current_key, self._max_parallelism, self._key_type)
        if key_group not in self._range:
            raise InvariantViolation(
                f"key {self.current_key!r:.60} of key group {key_group} reached a subtask that owns "
                f"{self._range.start} to {self._range.end}"
            )
        held_key = _HeldKey(self.current_key, key_group)
        self._held[self.current_key_id] = held_key
        self._groups.setdefault(key_group, {})[self.current_key_id] = held_key
        return held_key.cells
