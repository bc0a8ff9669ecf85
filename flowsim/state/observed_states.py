"""States whose calls an observer makes on another state of the same kind (law ``state``).

The observer is around the public methods: a call of a broken state that does nothing could not report itself.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Any

from flowsim.state.broadcast_state import BroadcastState
from flowsim.state.states import AggregatingState, ListState, MapState, ReducingState, ValueState


def by_observer(method: str, seen_as: str = "") -> Any:
    """A method of an observed state: the observer's method ``seen_as``, if not this one, calls the state's method."""

    def call(self: Observed, *arguments: object, **named: object) -> object:
        self._observer.begin(self._namespace)
        observe: Callable[..., object] = getattr(self._observer, seen_as or method)
        return observe(getattr(self._state, method), *arguments, **named)

    return call


def iterator_by_observer(seen_as: str) -> Any:
    """The method ``__iter__`` of an observed state: the observer sees a call that returns the list of its values."""

    def call(self: Observed) -> Iterator[object]:
        self._observer.begin(self._namespace)
        observe: Callable[..., list[object]] = getattr(self._observer, seen_as)
        return iter(observe(lambda: list(self._state)))

    return call


class Observed:
    """The part of all observed states."""

    _namespace: Hashable
    _observer: Any
    _state: Any

    def __init__(self, state: object, observer: object, namespace: Hashable = None) -> None:
        self._state = state
        self._observer = observer
        self._namespace = namespace


class ObservedValueState(Observed, ValueState):
    """An observed value state."""

    value = by_observer("value")
    update = by_observer("update")
    clear = by_observer("clear")


class ObservedElements(Observed):
    """The methods of an observed list state, of a key or of an operator."""

    get = by_observer("get")
    __iter__ = iterator_by_observer("get")
    add = by_observer("add")
    add_all = by_observer("add_all")
    update = by_observer("update")
    clear = by_observer("clear")


class ObservedListState(ObservedElements, ListState):
    """An observed list state."""

    merge_namespaces = by_observer("merge_namespaces")


class ObservedEntries(Observed):
    """The methods of an observed map state or broadcast state."""

    get = by_observer("get")
    __getitem__ = by_observer("__getitem__", "get")
    contains = by_observer("contains")
    __contains__ = by_observer("__contains__", "contains")
    items = by_observer("items")
    keys = by_observer("keys")
    __iter__ = iterator_by_observer("keys")
    values = by_observer("values")
    is_empty = by_observer("is_empty")
    put = by_observer("put")
    __setitem__ = by_observer("__setitem__", "put")
    put_all = by_observer("put_all")
    remove = by_observer("remove")
    __delitem__ = by_observer("__delitem__", "remove")
    clear = by_observer("clear")


class ObservedMapState(ObservedEntries, MapState):
    """An observed map state."""

    borrowed_between = by_observer("borrowed_between")
    append = by_observer("append")


class ObservedBroadcastState(ObservedEntries, BroadcastState):
    """An observed broadcast state, which may be read-only."""


class ObservedFold(Observed):
    """The methods of an observed state that folds what is added."""

    get = by_observer("get")
    add = by_observer("add")
    clear = by_observer("clear")
    merge_namespaces = by_observer("merge_namespaces")


class ObservedReducingState(ObservedFold, ReducingState):
    """An observed reducing state."""


class ObservedAggregatingState(ObservedFold, AggregatingState):
    """An observed aggregating state."""
