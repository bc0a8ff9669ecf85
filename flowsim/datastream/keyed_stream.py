"""A stream partitioned by key, with PyFlink's names and arguments. Flink: KeyedStream."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowsim.datastream import operator_factories as factories
from flowsim.datastream.data_stream import DataStream
from flowsim.datastream.function import has_life_cycle
from flowsim.datastream.functions import (
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    MapFunction,
)
from flowsim.datastream.interval_join import IntervalJoin
from flowsim.datastream.keyed_functions import KeyedFilter, KeyedFlatMap, KeyedMap
from flowsim.datastream.operator_factories import AnyFilter, AnyFlatMap, AnyMap, MakeOperator
from flowsim.datastream.reduce import AnyReduce, aggregate_operator, reduce_operator
from flowsim.datastream.transformation import Transformation, Upstream
from flowsim.datastream.windowed_stream import WindowedStream
from flowsim.graph.stream_graph import OperatorDescription
from flowsim.operators.functions.aggregators import AggregationType
from flowsim.operators.functions.field_accessor import Field
from flowsim.operators.stream_operator import KeySelector
from flowsim.operators.windowing.assigners.window_assigner import AnyWindowAssigner, GlobalWindows
from flowsim.values import TypeInformation

if TYPE_CHECKING:
    from flowsim.datastream.environment import StreamExecutionEnvironment


class KeyedStream(DataStream):
    """A stream partitioned by key: state and timers belong to the key. PyFlink: KeyedStream."""

    def __init__(
        self,
        env: StreamExecutionEnvironment,
        upstreams: tuple[Upstream, ...],
        key_selector: KeySelector,
        key_type: str | None,
        output_type: TypeInformation | None,
    ) -> None:
        super().__init__(env, upstreams, output_type)
        self._key_selector = key_selector
        self._key_type = key_type

    @property
    def key(self) -> tuple[KeySelector | None, str | None]:
        return self._key_selector, self._key_type

    def map(self, func: AnyMap, output_type: TypeInformation | None = None) -> DataStream:
        """As on any stream; a MapFunction that is opened may keep state of the key."""
        if isinstance(func, MapFunction) and has_life_cycle(func):
            return self._with_state(KeyedMap(func), "Map", "map", output_type)
        return super().map(func, output_type)

    def filter(self, func: AnyFilter) -> DataStream:
        """As on any stream; a FilterFunction that is opened may keep state of the key."""
        if isinstance(func, FilterFunction) and has_life_cycle(func):
            return self._with_state(KeyedFilter(func), "Filter", "filter", self._output_type)
        return super().filter(func)

    def flat_map(self, func: AnyFlatMap, output_type: TypeInformation | None = None) -> DataStream:
        """As on any stream; a FlatMapFunction that is opened may keep state of the key."""
        if isinstance(func, FlatMapFunction) and has_life_cycle(func):
            return self._with_state(KeyedFlatMap(func), "Flat Map", "flat_map", output_type)
        return super().flat_map(func, output_type)

    def _with_state(
        self, func: KeyedProcessFunction, name: str, kind: str, output_type: TypeInformation | None
    ) -> DataStream:
        return self.put_behind(name, kind, factories.keyed_process_operator(func), output_type)

    def process(  # type: ignore[override]
        self, func: KeyedProcessFunction, output_type: TypeInformation | None = None
    ) -> DataStream:
        """A KeyedProcessFunction, with state and timers of the key."""
        make = factories.keyed_process_operator(func)
        params = factories.timer_params(func)
        return self.put_behind("KEYED PROCESS", "keyed_process", make, output_type, params)

    def reduce(self, func: AnyReduce) -> DataStream:
        """Per key, the reduction of all records so far, emitted for each record: a ReduceFunction or a callable."""
        return self.put_behind("Keyed Reduce", "reduce", reduce_operator(func), self._output_type)

    def sum(self, position_to_sum: Field = 0) -> DataStream:
        """Per key, the first record with the sum of a field of all so far in it, emitted for each record.

        The field is a position or a name; a sum overflows as the declared type of the field does in Java.
        """
        return self._aggregate(AggregationType.SUM, position_to_sum)

    def min(self, position_to_min: Field = 0) -> DataStream:
        """Per key, the first record with the least value of a field so far in it: its other fields stay the first's."""
        return self._aggregate(AggregationType.MIN, position_to_min)

    def max(self, position_to_max: Field = 0) -> DataStream:
        """Per key, the first record with the greatest value of a field so far in it."""
        return self._aggregate(AggregationType.MAX, position_to_max)

    def min_by(self, position_to_min_by: Field = 0, first: bool = True) -> DataStream:
        """Per key, the record that holds the least value of a field so far; of those that tie the first.

        ``first=False``, which PyFlink does not offer, takes the last of them, as in Java.
        """
        return self._aggregate(AggregationType.MINBY, position_to_min_by, first)

    def max_by(self, position_to_max_by: Field = 0, first: bool = True) -> DataStream:
        """Per key, the record that holds the greatest value of a field so far; ties as for ``min_by``."""
        return self._aggregate(AggregationType.MAXBY, position_to_max_by, first)

    def _aggregate(self, kind: AggregationType, field: Field, first: bool = True) -> DataStream:
        make = aggregate_operator(kind, field, self._output_type, first)
        return self.put_behind("Keyed Aggregation", kind.value, make, self._output_type, {"field": field})

    def window(self, window_assigner: AnyWindowAssigner) -> WindowedStream:
        """Groups the records of a key into windows."""
        return WindowedStream(self, window_assigner)

    def count_window(self, size: int, slide: int = 0) -> WindowedStream:
        """Every ``size`` records of a key; with ``slide`` the last ``size`` at every ``slide`` records, as in Java."""
        return self.window(GlobalWindows())._counted(size, slide)

    def interval_join(self, other_stream: KeyedStream) -> IntervalJoin:
        """Pairs of records of one key that are near each other in event time, as in Java."""
        if not isinstance(other_stream, KeyedStream):
            raise TypeError(f"interval_join: expected a KeyedStream, got {other_stream!r}")
        return IntervalJoin(self, other_stream)

    def _add(self, name: str, description: OperatorDescription, make: MakeOperator) -> Transformation:
        added = super()._add(name, description, make)
        added.key_selector = self._key_selector
        added.key_type = self._key_type
        return added
