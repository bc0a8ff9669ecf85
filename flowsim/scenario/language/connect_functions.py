"""Functions of two inputs around compiled expressions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from flowsim.datastream.functions import (
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    KeyedCoProcessFunction,
)


@dataclass(frozen=True, slots=True)
class InputFunction:
    """What is done with the records of one input: ``function(record)``, or ``function(record, timestamp)``."""

    function: Callable[..., Any]
    uses_timestamp: bool
    one_record: bool
    """It gives one record, not a sequence of them."""

    def results(self, value: object, timestamp: int | None) -> Iterable[object]:
        found = self.function(value, timestamp) if self.uses_timestamp else self.function(value)
        return (found,) if self.one_record else found


class TwoMaps(CoMapFunction):
    """One record out for each one in."""

    def __init__(self, first: InputFunction, second: InputFunction) -> None:
        self._first, self._second = first.function, second.function

    def map1(self, value: object) -> object:
        return self._first(value)

    def map2(self, value: object) -> object:
        return self._second(value)


class TwoFlatMaps(CoFlatMapFunction):
    """As many records out as the functions give."""

    def __init__(self, first: InputFunction, second: InputFunction) -> None:
        self._first, self._second = first.function, second.function

    def flat_map1(self, value: object) -> Iterable[object]:
        found: Iterable[object] = self._first(value)
        return found

    def flat_map2(self, value: object) -> Iterable[object]:
        found: Iterable[object] = self._second(value)
        return found


class TwoStamped(CoProcessFunction):
    """The same where a function sees the timestamp."""

    def __init__(self, first: InputFunction, second: InputFunction) -> None:
        self._first, self._second = first, second

    def process_element1(self, value: object, ctx: CoProcessFunction.Context) -> Iterable[object]:
        return self._first.results(value, ctx.timestamp())

    def process_element2(self, value: object, ctx: CoProcessFunction.Context) -> Iterable[object]:
        return self._second.results(value, ctx.timestamp())


class TwoKeyedStamped(KeyedCoProcessFunction):
    """The same on keyed inputs."""

    def __init__(self, first: InputFunction, second: InputFunction) -> None:
        self._first, self._second = first, second

    def process_element1(self, value: object, ctx: KeyedCoProcessFunction.Context) -> Iterable[object]:
        return self._first.results(value, ctx.timestamp())

    def process_element2(self, value: object, ctx: KeyedCoProcessFunction.Context) -> Iterable[object]:
        return self._second.results(value, ctx.timestamp())
