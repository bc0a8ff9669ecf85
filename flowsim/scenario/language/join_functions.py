"""Functions of pairs of records around compiled expressions: for join and coGroup."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from flowsim.datastream.functions import (
    AggregateFunction,
    CoGroupFunction,
    JoinFunction,
)

Pair = Callable[[Any], Any]
"""A function of both records as one tuple, the fields of the second behind those of the first."""


class SelectPair(JoinFunction):
    """The selected fields of a pair."""

    def __init__(self, select: Pair) -> None:
        self._select = select

    def join(self, first: Any, second: Any) -> object:
        return self._select(first + second)


class AggregateBoth(CoGroupFunction):
    """The key, then the aggregates of the first side's records, then those of the second's."""

    def __init__(self, first_key: Pair, second_key: Pair, first: AggregateFunction, second: AggregateFunction) -> None:
        self._first_key, self._second_key = first_key, second_key
        self._sides = (first, second)

    def co_group(self, first: Iterable[Any], second: Iterable[Any]) -> Iterable[object]:
        groups = (list(first), list(second))
        if not groups[0] and not groups[1]:
            # An evictor took all: whose key it was stood in the records.
            return ()
        key = self._first_key(groups[0][0]) if groups[0] else self._second_key(groups[1][0])
        folded: list[object] = [key]
        for function, records in zip(self._sides, groups, strict=True):
            accumulator = function.create_accumulator()
            for record in records:
                accumulator = function.add(record, accumulator)
            result = function.get_result(accumulator)
            assert isinstance(result, tuple)
            folded.extend(result)
        return (tuple(folded),)
