"""The models of an operator's states, by name, for law ``state``."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from functools import partial
from typing import TypeVar

from flowsim.errors import InvariantViolation
from flowsim.state.descriptors import StateDescriptor
from flowsim.state.key_cells import KeyCells
from flowsim.state.state_changes import StateChanges
from flowsim.state.state_model import StateModel
from flowsim.values.keys import key_of_state_key, state_key

M = TypeVar("M", bound=StateModel[object])


class StateModels:
    """Creates the model of each state once. A model starts with what the state contains: restored contents."""

    __slots__ = ("_by_name", "_cells", "_changes", "_now_ms")

    def __init__(self, cells: KeyCells, now_ms: Callable[[], int], changes: StateChanges) -> None:
        self._cells = cells
        self._now_ms = now_ms
        self._changes = changes
        self._by_name: dict[str, StateModel[object]] = {}

    def of(self, descriptor: StateDescriptor, number: int, kind: type[M]) -> M:
        """Returns the model of a state; ``number`` is that of its facts."""
        known = self._by_name.get(descriptor.name)
        if known is None:
            known = kind(descriptor, self._cells, self._now_ms, partial(self._changes.record, number))
            self._by_name[descriptor.name] = known
            self._take_over(descriptor.name)
        if not isinstance(known, kind):
            raise InvariantViolation(f"state {descriptor.name!r} has a {type(known).__name__}, not a {kind.__name__}")
        return known

    def named(self, name: str) -> StateModel[object] | None:
        """Returns the model of a state; None before its first use."""
        return self._by_name.get(name)

    def key_ids(self, name: str, namespace: Hashable) -> list[object]:
        """Returns the ``state_key`` of every key that has a state in a namespace."""
        return [key_id for key_id, of_namespace in self._by_name[name].contents if of_namespace == namespace]

    def report_visits(self, name: str, namespace: Hashable, key_ids: Iterable[object]) -> None:
        """Records the keys of which not each was visited once, in a call for all keys that have a state."""
        model = self._by_name[name]
        for key_id in key_ids:
            cell = (key_id, namespace)
            content = model.contents.get(cell)
            model.report_answer(cell, key_of_state_key(key_id), None if content is None else model.value_of(content))

    def take_over_all(self) -> None:
        """Takes over what all states contain, after a restore."""
        for name in self._by_name:
            self._take_over(name)

    def _take_over(self, name: str) -> None:
        model, cells = self._by_name[name], self._cells
        for key_group in cells.key_groups():
            for key, place, _ in cells.of_key_group(key_group):
                if place[0] == name:
                    model.take_over((state_key(key), place[1]))
