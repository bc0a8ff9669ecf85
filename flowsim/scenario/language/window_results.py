"""What the result of an aggregated window begins with."""

from __future__ import annotations

from collections.abc import Iterable

from flowsim.datastream.functions import ProcessAllWindowFunction, ProcessWindowFunction
from flowsim.datastream.window import TimeWindow


class WindowResult(ProcessWindowFunction[object, object, object, object]):
    """Key fields, start and end of the window in ms if it has them, then the aggregates."""

    def __init__(self, composite_key: bool, has_bounds: bool = True) -> None:
        self._composite_key = composite_key
        self._has_bounds = has_bounds

    def process(
        self, key: object, context: ProcessWindowFunction.Context[object], elements: Iterable[object]
    ) -> Iterable[object]:
        keys = key if self._composite_key and isinstance(key, tuple) else (key,)
        head = (*keys, *_bounds(context.window())) if self._has_bounds else keys
        return [(*head, *result) for result in elements if isinstance(result, tuple)]


class AllWindowResult(ProcessAllWindowFunction[object, object, object]):
    """The same of a stream without keys."""

    def __init__(self, has_bounds: bool = True) -> None:
        self._has_bounds = has_bounds

    def process(
        self, context: ProcessAllWindowFunction.Context[object], elements: Iterable[object]
    ) -> Iterable[object]:
        head = _bounds(context.window()) if self._has_bounds else ()
        return [(*head, *result) for result in elements if isinstance(result, tuple)]


def _bounds(window: object) -> tuple[int, int]:
    assert isinstance(window, TimeWindow)
    return window.start, window.end
