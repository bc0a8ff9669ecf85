"""The models of reducing and aggregating states, for law ``state``.

A model does not call the user's function, which may have effects. It compares the calls that the state makes with those
that it must make, and takes over their results.
"""

from __future__ import annotations

from collections.abc import Generator, Hashable, Iterable, Sequence
from typing import Final

from flowsim.state.descriptors import Aggregator, Reducer
from flowsim.state.state_changes import NO_VALUE
from flowsim.state.state_model import SingleModel
from flowsim.values.closed_set import copy_value
from flowsim.values.equality import are_equal

Call = tuple[str, tuple[object, ...]]
"""A method of the user's function, and its arguments."""

Calls = Generator[Call, object, object]
"""Yields each call that a state must make, receives its result, and returns what it must contain or return."""

_NO_CALL: Final[Call] = ("", ())


class FoldingModel(SingleModel):
    """The model of a state with a function of the user."""

    __slots__ = ("_calls", "_expected", "_is_right", "_result", "_running")

    _calls: Calls | None
    """The calls that the state must make, until it makes the first of them."""
    _running: Calls
    _expected: Call
    """The next call that the state must make."""
    _result: object
    _is_right: bool

    def begin(self, namespace: Hashable, sources: Sequence[Hashable] = ()) -> None:
        super().begin(namespace, sources)
        self._calls, self._expected, self._is_right = None, _NO_CALL, True

    def begin_calls(self, namespace: Hashable, calls: Calls, sources: Sequence[Hashable] = ()) -> None:
        """Starts a call of the state; ``calls`` are those that it must make."""
        self.begin(namespace, sources)
        self._calls, self._result = calls, None

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

    def result_read(self, returned: object) -> None:
        """``get`` returned this."""
        self._finish()
        self.answer(self._is_right and are_equal(returned, self._result), NO_VALUE)
        self.end(self.has_cell())

    def folded(self) -> None:
        """A call has changed the state."""
        self._finish()
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

    def _finish(self) -> None:
        self._start()
        if self._expected is not _NO_CALL:
            self._is_right = False
            self._result = self.contents.get(self.cell)

    def merged(self, method: str, sources: Iterable[Hashable]) -> Calls:
        """The calls of a merge; ``method`` is the function's method that merges two contents."""
        moved: object = None
        for source in sources:
            content = self.contents.pop((self.cell[0], source), None)
            if moved is None:
                moved = content
            elif content is not None:
                moved = yield from self._merged_pair(method, moved, content)
        present = self.contents.get(self.cell)
        if moved is None:
            return present
        return moved if present is None else (yield from self._merged_pair(method, present, moved))

    def _merged_pair(self, method: str, first: object, second: object) -> Calls:
        ttl = self.ttl
        if ttl.ttl_ms is None:
            return copy_value((yield method, (first, second)))
        one, other = self._visible(first), self._visible(second)
        if one is not None and other is not None:
            return ttl.element((yield method, (one, other)))
        left = other if one is None else one
        return None if left is None else ttl.element(left)

    def _visible(self, element: object) -> object:
        """Returns the value of an element, None if it must not be visible."""
        return self.ttl.value(element) if element is not None and self.ttl.is_visible(element) else None


class ReducingModel(FoldingModel):
    """The model of a reducing state."""

    __slots__ = ()

    def added(self, value: object) -> Calls:
        """The calls of ``add``."""
        present, ttl = self.contents.get(self.cell), self.ttl
        if ttl.ttl_ms is None and value is None:
            return None
        if present is None:
            return ttl.element(value)
        if ttl.ttl_ms is None:
            return copy_value((yield "reduce", (present, value)))
        # A null element only renews the time.
        return (yield from self._merged_pair("reduce", present, ttl.element(value)))


class AggregatingModel(FoldingModel):
    """The model of an aggregating state."""

    __slots__ = ()

    def added(self, value: object) -> Calls:
        """The calls of ``add``."""
        if value is None:
            return None
        accumulator = self._visible(self.contents.get(self.cell))
        if accumulator is None:
            accumulator = copy_value((yield "create_accumulator", ()))
        return self.ttl.element((yield "add", (value, accumulator)))

    def result(self) -> Calls:
        """The calls of ``get``."""
        element = self.read()
        return None if element is None else (yield "get_result", (self.ttl.value(element),))


class WatchedReducer:
    """Reports the calls of a reduce function to the model."""

    __slots__ = ("_function", "_model")

    def __init__(self, function: Reducer, model: FoldingModel) -> None:
        self._function = function
        self._model = model

    def reduce(self, value1: object, value2: object) -> object:
        self._model.called("reduce", value1, value2)
        result = self._function.reduce(value1, value2)
        self._model.returned(result)
        return result


class WatchedAggregator:
    """Reports the calls of an aggregate function to the model."""

    __slots__ = ("_function", "_model")

    def __init__(self, function: Aggregator, model: FoldingModel) -> None:
        self._function = function
        self._model = model

    def create_accumulator(self) -> object:
        self._model.called("create_accumulator")
        result = self._function.create_accumulator()
        self._model.returned(result)
        return result

    def add(self, value: object, accumulator: object) -> object:
        self._model.called("add", value, accumulator)
        result = self._function.add(value, accumulator)
        self._model.returned(result)
        return result

    def get_result(self, accumulator: object) -> object:
        self._model.called("get_result", accumulator)
        result = self._function.get_result(accumulator)
        self._model.returned(result)
        return result

    def merge(self, acc_a: object, acc_b: object) -> object:
        self._model.called("merge", acc_a, acc_b)
        result = self._function.merge(acc_a, acc_b)
        self._model.returned(result)
        return result
