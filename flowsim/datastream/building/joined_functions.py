"""The window functions of joins and co-groups, which call the user's function. Flink: CoGroupedStreams, JoinedStreams."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from flowsim.datastream.functions import CoGroupFunction, FlatJoinFunction, JoinFunction, RuntimeContext, WindowFunction
from flowsim.operators.windowing.window_joins import FIRST, JoinCallObserver, Pairs
from flowsim.operators.windowing.windows import Window

Tagged = tuple[int, object]
"""A record with the tag of its stream, ``FIRST`` or ``SECOND``."""

AnyCoGroup = CoGroupFunction | Callable[[list[Any], list[Any]], Iterable[object] | None]
AnyJoin = JoinFunction | FlatJoinFunction | Callable[[Any, Any], object]


class CoGroupWindowFunction(WindowFunction[Tagged, object, object, Window]):
    """Separates the records of a window by stream. Flink: CoGroupedStreams.CoGroupWindowFunction."""

    def __init__(self, function: AnyCoGroup) -> None:
        self._function = function
        self._co_group = function.co_group if isinstance(function, CoGroupFunction) else function
        self.observer: JoinCallObserver | None = None
        self.pairs = Pairs()

    def open(self, runtime_context: RuntimeContext) -> None:
        if isinstance(self._function, CoGroupFunction):
            self._function.open(runtime_context)

    def close(self) -> None:
        if isinstance(self._function, CoGroupFunction):
            self._function.close()

    def apply(self, key: object, window: Window, inputs: Iterable[Tagged]) -> Iterable[object] | None:
        first: list[object] = []
        second: list[object] = []
        for tag, record in inputs:
            (first if tag == FIRST else second).append(record)
        calls = None if self.observer is None else self.observer.on_fire(window, first, second)
        if isinstance(self._function, JoinCoGroupFunction):
            pairs = self.pairs.of(first, second)
            return self._function.join(pairs if calls is None else calls.noting(pairs))
        if calls is not None:
            calls.record_both()
        return self._co_group(first, second)


class JoinCoGroupFunction(CoGroupFunction):
    """Calls the user's function for each pair of records; the outer loop is over the first stream.

    Flink: JoinCoGroupFunction.
    """

    def __init__(self, function: AnyJoin) -> None:
        self._function = function

    def open(self, runtime_context: RuntimeContext) -> None:
        if isinstance(self._function, JoinFunction | FlatJoinFunction):
            self._function.open(runtime_context)

    def close(self) -> None:
        if isinstance(self._function, JoinFunction | FlatJoinFunction):
            self._function.close()

    def co_group(self, first: list[object], second: list[object]) -> Iterable[object]:
        return self.join(Pairs().of(first, second))

    def join(self, pairs: Iterable[tuple[object, object]]) -> Iterable[object]:
        """Yields the results of one call per pair, in order."""
        function = self._function
        if isinstance(function, FlatJoinFunction):
            for left, right in pairs:
                yield from function.join(left, right) or ()
            return
        join = function.join if isinstance(function, JoinFunction) else function
        for left, right in pairs:
            yield join(left, right)
