"""Observes reducing and aggregating states, for facts and law ``state``.

An observer does not call the user's function, which may have effects. It compares the calls that the state makes with
those that it must make, and takes over their results.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Iterable
from typing import Final

from flowsim.facts.kinds import StateAction
from flowsim.state.descriptors import AggregatingStateDescriptor, Aggregator, Reducer, ReducingStateDescriptor
from flowsim.state.observed_states import ObservedAggregatingState, ObservedReducingState
from flowsim.state.state_changes import NO_VALUE
from flowsim.state.state_observer import SingleObserver
from flowsim.values.closed_set import copy_value
from flowsim.values.equality import are_equal

Call = tuple[str, tuple[object, ...]]
"""A method of the user's function, and its arguments."""

Calls = Generator[Call, object, object]
"""Yields each call that a state must make, receives its result, and returns what it must contain or return."""

_NO_CALL: Final[Call] = ("", ())


class FoldingObserver(SingleObserver):
    """Observes a state with a function of the user."""

    __slots__ = ("_calls", "_expected", "_is_right", "_result", "_running")

    _calls: Calls | None
    """The calls that the state must make, until it makes the first of them."""
    _running: Calls
    _expected: Call
    """The next call that the state must make."""
    _result: object
    _is_right: bool

    def begin(self, namespace: Hashable) -> None:
        super().begin(namespace)
        self._calls, self._expected, self._is_right, self._result = None, _NO_CALL, True, None

    def fold(self, call: Callable[[object], None], value: object, calls: Calls) -> None:
        """Makes a call that adds a value; ``calls`` are those of the function that it must make."""
        self._calls = calls
        call(value)
        if not self.record_removed():
            self.record(StateAction.ADD, self.held_value)
        self._folded()

    def fold_namespaces(self, call: Callable[[list[Hashable]], None], sources: Iterable[Hashable], method: str) -> None:
        """Makes a call that merges namespaces; ``method`` is the function's method that merges two contents."""
        merged = list(sources)
        self._calls = self._merged(method, merged)
        self.merge(call, merged)
        self._folded()

    def called(self, name: str, *arguments: object) -> None:
        """The state calls the function."""
        self._start()
        expected, known = self._expected
        if name != expected or not are_equal(arguments, known):
            self._is_right = False

    def returned(self, result: object) -> None:
        """The function returned this to the state."""
        if self._expected is not _NO_CALL:
            self._advance(result)

    def _folded(self) -> None:
        self.finish()
        self.set(self._result)
        self.end(self._is_right and self.has_cell() and self.are_sources_empty)

    def _start(self) -> None:
        """Starts at the first call, because cleanup may come before it."""
        calls, self._calls = self._calls, None
        if calls is not None:
            self._running = calls
            self._advance(None)

    def _advance(self, result: object) -> None:
        try:
            self._expected = self._running.send(result)
        except StopIteration as end:
            self._expected, self._result = _NO_CALL, end.value

    def finish(self) -> bool:
        """Ends the calls of the function; returns True if the state has made the right ones."""
        self._start()
        if self._expected is not _NO_CALL:
            self._is_right = False
            self._result = self.contents.get(self.cell)
        return self._is_right

    def _merged(self, method: str, sources: Iterable[Hashable]) -> Calls:
        moved: object = None
        for source in sources:
            content = self.contents.pop((self.cell[0], source), None)
            if moved is None:
                moved = content
            elif content is not None:
                moved = yield from self.merged_pair(method, moved, content)
        present = self.contents.get(self.cell)
        if moved is None:
            return present
        return moved if present is None else (yield from self.merged_pair(method, present, moved))

    def merged_pair(self, method: str, first: object, second: object) -> Calls:
        """The calls that merge two contents."""
        ttl = self.ttl
        if ttl.ttl_ms is None:
            return copy_value((yield method, (first, second)))
        one, other = self.visible(first), self.visible(second)
        if one is not None and other is not None:
            return ttl.element((yield method, (one, other)))
        left = other if one is None else one
        return None if left is None else ttl.element(left)

    def visible(self, element: object) -> object:
        """Returns the value of an element, None if it must not be visible."""
        return self.ttl.value(element) if element is not None and self.ttl.is_visible(element) else None


class ReducingObserver(FoldingObserver):
    """Observes a reducing state."""

    __slots__ = ()

    kind = "reducing"
    wrapper = ObservedReducingState

    def reported(self, descriptor: ReducingStateDescriptor) -> ReducingStateDescriptor:
        function = WatchedReducer(descriptor.get_reduce_function(), self)
        return ReducingStateDescriptor(descriptor.name, function, descriptor.type_info)

    def get(self, call: Callable[[], object]) -> object:
        return self.read_value(call)

    def add(self, call: Callable[[object], None], value: object) -> None:
        self.fold(call, value, self._added(value))

    def merge_namespaces(self, call: Callable[[list[Hashable]], None], sources: Iterable[Hashable]) -> None:
        self.fold_namespaces(call, sources, "reduce")

    def _added(self, value: object) -> Calls:
        present, ttl = self.contents.get(self.cell), self.ttl
        if ttl.ttl_ms is None and value is None:
            return None
        if present is None:
            return ttl.element(value)
        if ttl.ttl_ms is None:
            return copy_value((yield "reduce", (present, value)))
        # A null element only renews the time.
        return (yield from self.merged_pair("reduce", present, ttl.element(value)))


class AggregatingObserver(FoldingObserver):
    """Observes an aggregating state."""

    __slots__ = ()

    kind = "aggregating"
    wrapper = ObservedAggregatingState

    def reported(self, descriptor: AggregatingStateDescriptor) -> AggregatingStateDescriptor:
        function = WatchedAggregator(descriptor.get_agg_function(), self)
        return AggregatingStateDescriptor(descriptor.name, function, descriptor.type_info)

    def get(self, call: Callable[[], object]) -> object:
        self._calls = self._results()
        returned = call()
        self.record_expired()
        is_right = self.finish()
        self.answer(is_right and are_equal(returned, self._result), NO_VALUE)
        self.end(self.has_cell())
        return returned

    def add(self, call: Callable[[object], None], value: object) -> None:
        self.fold(call, value, self._added(value))

    def merge_namespaces(self, call: Callable[[list[Hashable]], None], sources: Iterable[Hashable]) -> None:
        self.fold_namespaces(call, sources, "merge")

    def _added(self, value: object) -> Calls:
        if value is None:
            return None
        accumulator = self.visible(self.contents.get(self.cell))
        if accumulator is None:
            accumulator = copy_value((yield "create_accumulator", ()))
        return self.ttl.element((yield "add", (value, accumulator)))

    def _results(self) -> Calls:
        element = self.read()
        return None if element is None else (yield "get_result", (self.ttl.value(element),))


class WatchedReducer:
    """Reports the calls of a reduce function to the observer."""

    __slots__ = ("_function", "_observer")

    def __init__(self, function: Reducer, observer: FoldingObserver) -> None:
        self._function = function
        self._observer = observer

    def reduce(self, value1: object, value2: object) -> object:
        self._observer.called("reduce", value1, value2)
        result = self._function.reduce(value1, value2)
        self._observer.returned(result)
        return result


class WatchedAggregator:
    """Reports the calls of an aggregate function to the observer."""

    __slots__ = ("_function", "_observer")

    def __init__(self, function: Aggregator, observer: FoldingObserver) -> None:
        self._function = function
        self._observer = observer

    def create_accumulator(self) -> object:
        self._observer.called("create_accumulator")
        result = self._function.create_accumulator()
        self._observer.returned(result)
        return result

    def add(self, value: object, accumulator: object) -> object:
        self._observer.called("add", value, accumulator)
        result = self._function.add(value, accumulator)
        self._observer.returned(result)
        return result

    def get_result(self, accumulator: object) -> object:
        self._observer.called("get_result", accumulator)
        result = self._function.get_result(accumulator)
        self._observer.returned(result)
        return result

    def merge(self, acc_a: object, acc_b: object) -> object:
        self._observer.called("merge", acc_a, acc_b)
        result = self._function.merge(acc_a, acc_b)
        self._observer.returned(result)
        return result
