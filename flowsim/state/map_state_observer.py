"""Observes a map state or broadcast state, for facts and law ``state``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from flowsim.facts.kinds import StateAction
from flowsim.state.map_entries import MapEntries
from flowsim.state.observed_states import ObservedMapState
from flowsim.state.state_observer import StateObserver, own_element
from flowsim.values.closed_set import copy_value
from flowsim.values.equality import are_equal
from flowsim.values.keys import key_of_state_key, state_key

Elements = dict[object, object]
"""The elements of a map by the ``state_key`` of their keys, in the order in which the keys were added."""


class MapObserver(StateObserver[Elements]):
    """Observes a map state. An empty map is the same as none."""

    __slots__ = ()

    kind = "map"
    wrapper = ObservedMapState

    def own(self, held: object) -> Elements:
        return {state_key(key): own_element(element) for key, element in _items(held)}

    def entries(self, content: Elements | MapEntries | None) -> int:
        return 0 if content is None else len(content)

    def value_of(self, content: Elements) -> object:
        return [(key_of_state_key(key_id), self.ttl.value(element)) for key_id, element in content.items()]

    def is_rest(self, content: Elements | None, held: object) -> bool:
        before, left = content or {}, self.own(held)
        kept = all(key_id in before and are_equal(before[key_id], element) for key_id, element in left.items())
        return kept and all(self.ttl.is_expired(before[key_id]) for key_id in before if key_id not in left)

    def get(self, call: Callable[[object], object], key: object) -> object:
        returned = call(key)
        self.record_expired(key)
        is_there, element = self._read(key)
        expected = self.ttl.value(element) if is_there else None
        self.answer(are_equal(returned, expected), expected)
        self.end(self._has([key]))
        return returned

    def contains(self, call: Callable[[object], bool], key: object) -> bool:
        returned = call(key)
        self.record_expired(key)
        is_there, _ = self._read(key)
        self.answer(returned is is_there, is_there)
        self.end(self._has([key]))
        return returned

    def _read(self, key: object) -> tuple[bool, object]:
        """Returns whether a read sees an element, and the element; renews or removes it."""
        content, ttl = self.contents.get(self.cell), self.ttl
        if not content:
            return False, None
        key_id = state_key(key)
        if key_id not in content:
            return False, None
        element = content[key_id]
        if ttl.is_expired(element):
            del content[key_id]
            return ttl.returns_expired, element
        content[key_id] = ttl.renewed(element)
        return True, element

    def items(self, call: Callable[[], list[tuple[object, object]]]) -> list[tuple[object, object]]:
        returned = call()
        self.record_expired()
        expected = self._read_all()
        is_right = _are_items(returned, expected) and self._is_order([key for key, _ in returned])
        self.answer(is_right, [(key_of_state_key(key_id), value) for key_id, value in expected.items()])
        self.end(self._has(()))
        return returned

    def keys(self, call: Callable[[], list[object]]) -> list[object]:
        returned = call()
        self.record_expired()
        expected = self._read_all()
        read = list(map(state_key, returned))
        is_right = len(read) == len(expected) and expected.keys() == set(read) and self._is_order(returned)
        self.answer(is_right, list(map(key_of_state_key, expected)))
        self.end(self._has(()))
        return returned

    def values(self, call: Callable[[], list[object]]) -> list[object]:
        """The values come in the order of the keys."""
        returned = call()
        self.record_expired()
        held = _items(self.held_now())
        expected = self._read_all()
        if len(held) == len(expected):
            in_order = [expected.get(state_key(key)) for key, _ in held]
            self.answer(are_equal(returned, in_order), in_order)
        else:
            self.answer(_are_same(returned, list(expected.values())), list(expected.values()))
        self.end(self._has(()))
        return returned

    def borrowed_between(
        self, call: Callable[[int, int], list[tuple[object, object]]], lowest: int, highest: int
    ) -> list[tuple[object, object]]:
        returned = call(lowest, highest)
        content: Elements = {
            key_id: element
            for key_id, element in self.contents.get(self.cell, {}).items()
            if type(key_id) is int and lowest <= key_id <= highest
        }
        self.answer(_are_items(returned, content), self.value_of(content))
        self.end(self._has(()))
        return returned

    def _read_all(self) -> Elements:
        """Returns the values that a read of the whole map sees; renews or removes their elements."""
        content, ttl = self.contents.get(self.cell, {}), self.ttl
        if ttl.ttl_ms is None:
            return content
        seen = {key_id: ttl.value(element) for key_id, element in content.items() if ttl.is_visible(element)}
        left = {key_id: ttl.renewed(element) for key_id, element in content.items() if not ttl.is_expired(element)}
        self.set(left or None)
        return seen

    def _is_order(self, keys: list[object]) -> bool:
        """True if the keys have the order in which the state keeps them, unless a read has just removed some."""
        held = _items(self.held_now())
        return len(held) != len(keys) or are_equal(keys, [key for key, _ in held])

    def is_empty(self, call: Callable[[], bool]) -> bool:
        returned = call()
        expected = not self.contents.get(self.cell)
        self.answer(returned is expected, expected)
        self.end(self._has(()))
        return returned

    def put(self, call: Callable[[object, object], None], key: object, value: object) -> None:
        call(key, value)
        self.record(StateAction.PUT, (key, value))
        self._elements()[state_key(key)] = self.ttl.element(value)
        self.end(self._has([key]))

    def put_all(self, call: Callable[[Mapping[object, object]], None], dict_value: Mapping[object, object]) -> None:
        call(dict_value)
        elements = self._elements()
        for key, value in dict_value.items():
            self.record(StateAction.PUT, (key, value))
            elements[state_key(key)] = self.ttl.element(value)
        self.end(self._has(dict_value))

    def append(self, call: Callable[[object, object], None], key: object, value: object) -> None:
        call(key, value)
        self.record(StateAction.ADD, (key, value))
        elements, key_id = self._elements(), state_key(key)
        present = elements.get(key_id)
        if isinstance(present, list):
            present.append(copy_value(value))
        else:
            elements[key_id] = [copy_value(value)]
        self.end(self._has([key]))

    def remove(self, call: Callable[[object], None], key: object) -> None:
        call(key)
        if self.has_fewer_entries:
            self.record(StateAction.REMOVE, key)
        content = self.contents.get(self.cell)
        if content:
            content.pop(state_key(key), None)
        self.end(self._has([key]))

    def _elements(self) -> Elements:
        return self.contents.setdefault(self.cell, {})

    def _has(self, keys: Iterable[object]) -> bool:
        """True if the state has as many entries as the model, and these are equal."""
        held, content = self.held_now(), self.contents.get(self.cell)
        if not isinstance(held, MapEntries) or not held or not content:
            return not held and not content
        if len(held) != len(content):
            return False
        for key in keys:
            key_id = state_key(key)
            if (key in held) != (key_id in content) or not are_equal(held.get(key), content.get(key_id)):
                return False
        return True


def _items(held: object) -> list[tuple[object, object]]:
    return held.items() if isinstance(held, MapEntries) else []


def _are_items(items: list[tuple[object, object]], elements: Elements) -> bool:
    """True if these are the elements, in any order."""
    if len(items) != len(elements):
        return False
    found = {state_key(key): element for key, element in items}
    return found == elements or (
        found.keys() == elements.keys() and all(are_equal(found[key_id], elements[key_id]) for key_id in elements)
    )


def _are_same(found: list[object], expected: list[object]) -> bool:
    """True if a read that has just removed entries returned these values in another order."""
    left = list(expected)
    for value in found:
        place = next((index for index, each in enumerate(left) if are_equal(each, value)), None)
        if place is None:
            return False
        del left[place]
    return not left
