"""Creates the observers of states."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeVar

from flowsim.facts.kinds import StateAction
from flowsim.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from flowsim.state.folding_state_observers import AggregatingObserver, ReducingObserver
from flowsim.state.key_cells import KeyCells, Place
from flowsim.state.list_state_observer import ListObserver
from flowsim.state.map_state_observer import MapObserver
from flowsim.state.state_changes import StateChanges
from flowsim.state.state_observer import StateObserver, ValueObserver

T = TypeVar("T", bound=StateObserver[Any])

_OBSERVERS: Final[dict[type[StateDescriptor], type[StateObserver[Any]]]] = {
    ValueStateDescriptor: ValueObserver,
    ListStateDescriptor: ListObserver,
    MapStateDescriptor: MapObserver,
    ReducingStateDescriptor: ReducingObserver,
    AggregatingStateDescriptor: AggregatingObserver,
}


def observe(
    descriptor: StateDescriptor, cells: KeyCells, now_ms: Callable[[], int], changes: StateChanges
) -> StateObserver[Any]:
    """Describes a keyed state in the facts, and returns its observer."""
    observer = next(observer for declared, observer in _OBSERVERS.items() if isinstance(descriptor, declared))
    record = partial(changes.record, changes.describe(descriptor.name, observer.kind))
    return observer(descriptor, cells, now_ms, record, record)


def observe_without_keys(
    observer: type[T], descriptor: StateDescriptor, content: Callable[[], object], changes: StateChanges, kind: str
) -> T:
    """Returns the observer of a state without keys, whose changes are not recorded; ``content`` is what it holds."""
    report = UnkeyedReport(changes, descriptor.name, kind)
    return observer(descriptor, _UnkeyedCell(content), _no_time_ms, report, None)


class UnkeyedReport:
    """Records that a state without keys differs from its model; describes the state only then."""

    __slots__ = ("_changes", "_kind", "_name")

    def __init__(self, changes: StateChanges, name: str, kind: str) -> None:
        self._changes = changes
        self._name = name
        self._kind = kind

    def __call__(
        self, namespace: object, key: object, key_id: object, action: StateAction, entries: int, value: object
    ) -> None:
        number = self._changes.describe(self._name, self._kind)
        self._changes.record(number, None, None, None, action, entries, value)


class _UnkeyedCell:
    """The content of a state without keys, with the interface of ``KeyCells``."""

    __slots__ = ("_content",)

    current_key: None = None
    current_key_id: None = None

    def __init__(self, content: Callable[[], object]) -> None:
        self._content = content

    def get_of(self, key_id: object, place: Place) -> object:
        return self._content()


def _no_time_ms() -> int:
    """The time of a state that cannot expire."""
    return 0
