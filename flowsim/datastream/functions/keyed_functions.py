"""Functions with one or two inputs on keyed streams; flowsim runs the functions as PyFlink does.

The functions may keep keyed state.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic, TypeVar

from flowsim.datastream.functions import (
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    FilterFunction,
    FlatMapFunction,
    Function,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    MapFunction,
    RuntimeContext,
)
from flowsim.operators.functions.process import ProcessContext

F = TypeVar("F", bound=Function)


class _OfOneInput(KeyedProcessFunction, Generic[F]):
    def __init__(self, func: F) -> None:
        self._func = func

    def open(self, runtime_context: RuntimeContext) -> None:
        self._func.open(runtime_context)

    def close(self) -> None:
        self._func.close()


class KeyedMap(_OfOneInput[MapFunction]):
    """A MapFunction with keyed state."""

    def process_element(self, value: object, ctx: ProcessContext) -> Iterable[object] | None:
        return (self._func.map(value),)


class KeyedFilter(_OfOneInput[FilterFunction]):
    """A FilterFunction with keyed state."""

    def process_element(self, value: object, ctx: ProcessContext) -> Iterable[object] | None:
        return (value,) if self._func.filter(value) else None


class KeyedFlatMap(_OfOneInput[FlatMapFunction]):
    """A FlatMapFunction with keyed state."""

    def process_element(self, value: object, ctx: ProcessContext) -> Iterable[object] | None:
        return self._func.flat_map(value)


class _OfTwoInputs(KeyedCoProcessFunction, Generic[F]):
    def __init__(self, func: F) -> None:
        self._func = func

    def open(self, runtime_context: RuntimeContext) -> None:
        self._func.open(runtime_context)

    def close(self) -> None:
        self._func.close()


class KeyedCoMap(_OfTwoInputs[CoMapFunction]):
    """A CoMapFunction with keyed state."""

    def process_element1(self, value: object, ctx: ProcessContext) -> Iterable[object]:
        return _present(self._func.map1(value))

    def process_element2(self, value: object, ctx: ProcessContext) -> Iterable[object]:
        return _present(self._func.map2(value))


class KeyedCoProcess(_OfTwoInputs[CoProcessFunction]):
    """A CoProcessFunction with keyed state."""

    def process_element1(self, value: object, ctx: ProcessContext) -> Iterable[object] | None:
        return self._func.process_element1(value, ctx)

    def process_element2(self, value: object, ctx: ProcessContext) -> Iterable[object] | None:
        return self._func.process_element2(value, ctx)


class KeyedCoFlatMap(_OfTwoInputs[CoFlatMapFunction]):
    """A CoFlatMapFunction with keyed state."""

    def process_element1(self, value: object, ctx: ProcessContext) -> Iterable[object] | None:
        return self._func.flat_map1(value)

    def process_element2(self, value: object, ctx: ProcessContext) -> Iterable[object] | None:
        return self._func.flat_map2(value)


def _present(result: object) -> Iterable[object]:
    return () if result is None else (result,)
