"""The stateless operators: map, filter, flat map. Flink: StreamMap, StreamFilter, StreamFlatMap."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from mypy_extensions import mypyc_attr

from flowsim.operators.stream_operator import Value
from flowsim.operators.user_functions import FunctionOperator, UserFunction


@mypyc_attr(allow_interpreted_subclasses=True)
class MapOperator(FunctionOperator):
    """Emits one record for each input record, with the same timestamp. Flink: StreamMap."""

    __slots__ = ("_map",)

    def __init__(self, map_function: Callable[[Value], Value], user_function: UserFunction | None = None) -> None:
        super().__init__(user_function)
        self._map = map_function

    def process_element(self, value: Value, timestamp: int | None) -> None:
        self.clock.now_ns += self.cost_ns
        self.records_in += 1
        self.collector.collect(self._map(value), timestamp)


class FilterOperator(FunctionOperator):
    """Keeps the records that its predicate accepts, and counts all other records as dropped. Flink: StreamFilter."""

    __slots__ = ("_accepts",)

    def __init__(self, predicate: Callable[[Value], object], user_function: UserFunction | None = None) -> None:
        super().__init__(user_function)
        self._accepts = predicate

    def process_element(self, value: Value, timestamp: int | None) -> None:
        self.clock.now_ns += self.cost_ns
        self.records_in += 1
        if self._accepts(value):
            self.collector.collect(value, timestamp)
        else:
            self.records_dropped += 1


class FlatMapOperator(FunctionOperator):
    """Emits any number of records for each input record, with the same timestamp. Flink: StreamFlatMap.

    The function returns an iterable or None, or is a generator. Results are emitted one by one, so a blocked output
    pauses a generator between two results (D3).
    """

    __slots__ = ("_flat_map",)

    def __init__(
        self, flat_map_function: Callable[[Value], Iterable[Value] | None], user_function: UserFunction | None = None
    ) -> None:
        super().__init__(user_function)
        self._flat_map = flat_map_function

    def process_element(self, value: Value, timestamp: int | None) -> None:
        self.clock.now_ns += self.cost_ns
        self.records_in += 1
        results = self._flat_map(value)
        if results is not None:
            collector = self.collector
            for result in results:
                collector.collect(result, timestamp)
