"""Functions around compiled expressions: those that need the timestamp, the items of a flat_map."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from flowsim.datastream.functions import ProcessFunction
from flowsim.scenario.language.functions import ExpressionFailure

Stamped = Callable[[object, int | None], object]


class StampedMap(ProcessFunction):
    """One record out for each one in."""

    def __init__(self, function: Stamped) -> None:
        self._function = function

    def process_element(self, value: object, ctx: ProcessFunction.Context) -> Iterable[object]:
        return (self._function(value, ctx.timestamp()),)


class StampedFilter(ProcessFunction):
    """Keeps the records for which the function is true."""

    def __init__(self, function: Stamped) -> None:
        self._function = function

    def process_element(self, value: object, ctx: ProcessFunction.Context) -> Iterable[object]:
        return (value,) if self._function(value, ctx.timestamp()) else ()


class StampedFlatMap(ProcessFunction):
    """As many records out as the function gives."""

    def __init__(self, function: Callable[[object, int | None], Iterable[object]]) -> None:
        self._function = function

    def process_element(self, value: object, ctx: ProcessFunction.Context) -> Iterable[object]:
        return self._function(value, ctx.timestamp())


class Explode:
    """The records of a flat_map: the kept fields and one item of the sequence each."""

    def __init__(self, each: Callable[..., object], keep: tuple[int, ...]) -> None:
        self._each = each
        self._keep = keep

    def __call__(self, value: Any, *timestamp: int | None) -> list[object]:
        items = self._each(value, *timestamp)
        if not isinstance(items, (tuple, list)):
            raise ExpressionFailure(f"flat_map needs a tuple or list, got {type(items).__name__}")
        kept = tuple([value[index] for index in self._keep])
        return [(*kept, item) for item in items]
