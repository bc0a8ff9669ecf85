"""Observes a list state, for facts and law ``state``."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable

from flowsim.facts.kinds import StateAction
from flowsim.state.observed_states import ObservedListState
from flowsim.state.state_changes import NO_VALUE
from flowsim.state.state_observer import StateObserver, own_element
from flowsim.values.equality import are_equal


class ListObserver(StateObserver[list[object]]):
    """Observes a list state."""

    __slots__ = ()

    kind = "list"
    wrapper = ObservedListState

    def own(self, held: object) -> list[object]:
        return list(map(own_element, held)) if isinstance(held, list) else []

    def entries(self, content: list[object] | None) -> int:
        return 0 if content is None else len(content)

    def value_of(self, content: list[object]) -> object:
        return list(map(self.ttl.value, content))

    def is_rest(self, content: list[object] | None, held: object) -> bool:
        left = iter(held) if isinstance(held, list) else iter(())
        follows = next(left, NO_VALUE)
        for element in content or ():
            if follows is not NO_VALUE and are_equal(element, follows):
                follows = next(left, NO_VALUE)
            elif not self.ttl.is_expired(element):
                return False
        return follows is NO_VALUE

    def get(self, call: Callable[[], list[object]]) -> list[object]:
        returned = call()
        self.record_expired()
        ttl, content = self.ttl, self.contents.get(self.cell, [])
        if ttl.ttl_ms is None:
            expected = content
        else:
            alive = [element for element in content if not ttl.is_expired(element)]
            expected = list(map(ttl.value, content if ttl.returns_expired else alive))
            if not alive:
                self.set(None)
            elif ttl.updates_on_read:
                self.set(list(map(ttl.renewed, alive)))
        self.answer(are_equal(returned, expected), expected)
        self.end(self.has_cell() if ttl.updates_on_read else self._has_last(0))
        return returned

    def add(self, call: Callable[[object], None], value: object) -> None:
        call(value)
        self._appended([value])

    def add_all(self, call: Callable[[list[object]], None], values: Iterable[object]) -> None:
        added = list(values)
        call(added)
        self._appended(added)

    def _appended(self, values: list[object]) -> None:
        for value in values:
            self.record(StateAction.ADD, value)
        if values:
            self.contents.setdefault(self.cell, []).extend(map(self.ttl.element, values))
        self.end(self._has_last(len(values)))

    def update(self, call: Callable[[list[object]], None], values: Iterable[object]) -> None:
        elements = list(values)
        call(elements)
        if elements:
            self.record(StateAction.PUT, elements)
        else:
            self.record_removed()
        self.set(list(map(self.ttl.element, elements)) or None)
        self.end(self.has_cell())

    def merge_namespaces(self, call: Callable[[list[Hashable]], None], sources: Iterable[Hashable]) -> None:
        merged = list(sources)
        self.merge(call, merged)
        moved = list[object]()
        for source in merged:
            moved += self.contents.pop((self.cell[0], source), ())
        if moved:
            self.contents.setdefault(self.cell, []).extend(moved)
        self.end(self.has_cell() and self.are_sources_empty)

    def _has_last(self, count: int) -> bool:
        """True if the state has as many elements as the model, and the last ones are equal."""
        held, content = self.held_now(), self.contents.get(self.cell)
        if held is None or content is None:
            return held is content
        if not isinstance(held, list) or len(held) != len(content):
            return False
        return not count or are_equal(held[-count:], content[-count:])
