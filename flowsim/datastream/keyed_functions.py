"""Functions of one record on a keyed stream, which may keep state of the key, as PyFlink runs them."""

from __future__ import annotations

from collections.abc import Iterable

from flowsim.datastream.functions import (
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    MapFunction,
    RuntimeContext,
)
from flowsim.operators.process import ProcessContext


class KeyedMap(KeyedProcessFunction):
    """A MapFunction with keyed state."""

    def __init__(self, func: MapFunction) -> None:
        self._func = func

    def open(self, runtime_context: RuntimeContext) -> None:
        self._func.open(runtime_context)

    def close(self) -> None:
        self._func.close()

    def process_element(self, value: object, ctx: ProcessContext) -> Iterable[object] | None:
        return (self._func.map(value),)


class KeyedFilter(KeyedProcessFunction):
    """A FilterFunction with keyed state."""

    def __init__(self, func: FilterFunction) -> None:
        self._func = func

    def open(self, runtime_context: RuntimeContext) -> None:
        self._func.open(runtime_context)

    def close(self) -> None:
        self._func.close()

    def process_element(self, value: object, ctx: ProcessContext) -> Iterable[object] | None:
        return (value,) if self._func.filter(value) else None


class KeyedFlatMap(KeyedProcessFunction):
    """A FlatMapFunction with keyed state."""

    def __init__(self, func: FlatMapFunction) -> None:
        self._func = func

    def open(self, runtime_context: RuntimeContext) -> None:
        self._func.open(runtime_context)

    def close(self) -> None:
        self._func.close()

    def process_element(self, value: object, ctx: ProcessContext) -> Iterable[object] | None:
        return self._func.flat_map(value)
