"""The operations of a state with entries, each compared with a model (law ``state``)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from flowsim.facts.kinds import StateAction
from flowsim.state.map_state_model import MapModel


class ComparedEntries:
    """The operations of a map state or broadcast state that wraps another one: each is compared with the model.

    A subclass that records changes overrides ``_begin``, ``_was_read`` and ``_changed``.
    """

    __slots__ = ()
    _state: Any
    _model: MapModel

    def _begin(self) -> None:
        """Called before each operation."""
        self._model.begin(None)

    def _was_read(self, *key: object) -> None:
        """Called after a read, of one key or of all, which may have removed expired entries."""

    def _changed(self, action: StateAction, *changes: object) -> None:
        """Called after a write; ``changes``: entries that were put, or the key that was removed."""

    def get(self, key: object) -> object:
        return self._get(key, self._state.get)

    def __getitem__(self, key: object) -> object:
        return self._get(key, self._state.__getitem__)

    def _get(self, key: object, get: Callable[[object], object]) -> object:
        self._begin()
        value = get(key)
        self._was_read(key)
        self._model.value_read(key, value)
        return value

    def contains(self, key: object) -> bool:
        return self._contains(key, self._state.contains)

    def __contains__(self, key: object) -> bool:
        return self._contains(key, self._state.__contains__)

    def _contains(self, key: object, contains: Callable[[object], bool]) -> bool:
        self._begin()
        contained = contains(key)
        self._was_read(key)
        self._model.contains_read(key, contained)
        return contained

    def items(self) -> list[tuple[object, object]]:
        self._begin()
        items: list[tuple[object, object]] = self._state.items()
        self._was_read()
        self._model.items_read(items)
        return items

    def keys(self) -> list[object]:
        return self._keys(self._state.keys)

    def __iter__(self) -> Iterator[object]:
        return iter(self._keys(lambda: list(self._state)))

    def _keys(self, read: Callable[[], list[object]]) -> list[object]:
        self._begin()
        keys = read()
        self._was_read()
        self._model.keys_read(keys)
        return keys

    def values(self) -> list[object]:
        self._begin()
        values: list[object] = self._state.values()
        self._was_read()
        self._model.values_read(values)
        return values

    def is_empty(self) -> bool:
        self._begin()
        is_empty: bool = self._state.is_empty()
        self._model.is_empty_read(is_empty)
        return is_empty

    def put(self, key: object, value: object) -> None:
        self._put(key, value, self._state.put)

    def __setitem__(self, key: object, value: object) -> None:
        self._put(key, value, self._state.__setitem__)

    def _put(self, key: object, value: object, put: Callable[[object, object], None]) -> None:
        self._begin()
        put(key, value)
        self._changed(StateAction.PUT, (key, value))
        self._model.put(key, value)

    def put_all(self, dict_value: Mapping[object, object]) -> None:
        self._begin()
        self._state.put_all(dict_value)
        self._changed(StateAction.PUT, *dict_value.items())
        self._model.put_all(dict_value)

    def remove(self, key: object) -> None:
        self._remove(key, self._state.remove)

    def __delitem__(self, key: object) -> None:
        self._remove(key, self._state.__delitem__)

    def _remove(self, key: object, remove: Callable[[object], None]) -> None:
        self._begin()
        remove(key)
        self._changed(StateAction.REMOVE, key)
        self._model.removed(key)

    def clear(self) -> None:
        self._begin()
        self._state.clear()
        self._changed(StateAction.CLEAR)
        self._model.cleared()
