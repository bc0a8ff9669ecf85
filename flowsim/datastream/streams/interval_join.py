"""Joins two keyed streams by the distance of their timestamps. Flink: KeyedStream.IntervalJoin, IntervalJoined."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, Generic, TypeAlias

from flowsim.datastream.building.operator_factories import timer_params
from flowsim.datastream.functions.function import Function, isolated
from flowsim.datastream.streams.stream import S, Stream, add_inputs
from flowsim.errors import BadInput
from flowsim.graph.stream_graph import OperatorDescription
from flowsim.operators.functions.interval_join import IntervalBounds, IntervalJoinOperator, JoinContext
from flowsim.operators.inputs.reading_order import Reading, reading_order
from flowsim.operators.stream_operator import StreamOperator
from flowsim.streamrecord.elements import OutputTag
from flowsim.values.durations import Duration, Time, millis_of
from flowsim.values.types import TypeInformation


class ProcessJoinFunction(Function):
    """Called for every pair of an interval join, with side outputs (``yield tag, value``). Flink: ProcessJoinFunction."""

    Context: TypeAlias = JoinContext

    @abstractmethod
    def process_element(self, left: Any, right: Any, ctx: JoinContext) -> Iterable[object] | None: ...


class IntervalJoin(Generic[S]):
    """Two keyed streams before their bounds are set. Flink: KeyedStream.IntervalJoin."""

    def __init__(self, stream1: Stream[S], stream2: Stream[S], is_event_time: bool = True) -> None:
        self._stream1 = stream1
        self._stream2 = stream2
        self._is_event_time = is_event_time

    def in_event_time(self) -> IntervalJoin[S]:
        """Joins by the timestamps of the records; this is the default."""
        return IntervalJoin(self._stream1, self._stream2)

    def in_processing_time(self) -> IntervalJoin[S]:
        """Makes ``between`` raise BadInput, as Flink does: interval joins support only event time."""
        return IntervalJoin(self._stream1, self._stream2, False)

    def between(self, lower_bound: Duration | Time, upper_bound: Duration | Time) -> IntervalJoined[S]:
        """Sets the bounds: a left record at t joins right records from t + lower to t + upper.

        Both bounds may be negative.

        Raises BadInput if the lower bound is above the upper bound, and in processing time.
        """
        if not self._is_event_time:
            raise BadInput("interval_join: an interval join supports only event time, not processing time")
        lower_ms = millis_of(lower_bound, "interval_join: lower bound")
        upper_ms = millis_of(upper_bound, "interval_join: upper bound")
        if lower_ms > upper_ms:
            raise BadInput(f"interval_join: the lower bound {lower_ms} ms is above the upper one {upper_ms} ms")
        return IntervalJoined(self._stream1, self._stream2, lower_ms, upper_ms)


class IntervalJoined(Generic[S]):
    """Two keyed streams and the bounds of the join. Flink: KeyedStream.IntervalJoined."""

    def __init__(self, stream1: Stream[S], stream2: Stream[S], lower_ms: int, upper_ms: int) -> None:
        self._stream1 = stream1
        self._stream2 = stream2
        self._between_ms = (lower_ms, upper_ms)
        self._lower_exclusive = False
        self._upper_exclusive = False
        self._late_left: OutputTag | None = None
        self._late_right: OutputTag | None = None
        self._reading: Reading = "any"

    def lower_bound_exclusive(self) -> IntervalJoined[S]:
        """Excludes pairs exactly at the lower bound."""
        self._lower_exclusive = True
        return self

    def upper_bound_exclusive(self) -> IntervalJoined[S]:
        """Excludes pairs exactly at the upper bound."""
        self._upper_exclusive = True
        return self

    def side_output_left_late_data(self, output_tag: OutputTag) -> IntervalJoined[S]:
        """Keeps late records of the left stream in a side output instead of dropping them."""
        self._late_left = output_tag
        return self

    def side_output_right_late_data(self, output_tag: OutputTag) -> IntervalJoined[S]:
        """Keeps late records of the right stream in a side output instead of dropping them."""
        self._late_right = output_tag
        return self

    def reading(self, reading: Reading) -> IntervalJoined[S]:
        """flowsim's own: sets how the operator reads its inputs: any, first, second or alternate (rule 7.24)."""
        reading_order(reading)
        self._reading = reading
        return self

    def process(self, process_join_function: ProcessJoinFunction, output_type: TypeInformation | None = None) -> S:
        """Applies the function to each pair when the pair's second record arrives.

        The output has the later timestamp of the pair.
        """
        if not isinstance(process_join_function, ProcessJoinFunction):
            raise TypeError(f"interval_join: process: expected a ProcessJoinFunction, got {process_join_function!r}")
        isolated(process_join_function, "interval_join")
        lower_ms, upper_ms = self._between_ms
        bounds = IntervalBounds.between(
            lower_ms, upper_ms, lower_exclusive=self._lower_exclusive, upper_exclusive=self._upper_exclusive
        )
        late_left, late_right, reading = self._late_left, self._late_right, self._reading

        def make(name: str) -> StreamOperator:
            function = isolated(process_join_function, name)
            return IntervalJoinOperator(function, bounds, late_left, late_right, reading_order(reading))

        params = {
            "lower_ms": bounds.lower_ms,
            "upper_ms": bounds.upper_ms,
            "late_left": late_left is not None,
            "late_right": late_right is not None,
            "reading": reading,
            "late_tags": sorted({tag.tag_id for tag in (late_left, late_right) if tag is not None}),
            **timer_params(process_join_function),
        }
        description = OperatorDescription("interval_join", params)
        return add_inputs("Interval Join", description, make, (self._stream1, self._stream2), output_type)
