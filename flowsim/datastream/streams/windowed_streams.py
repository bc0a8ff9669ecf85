"""Streams grouped into windows, keyed and not keyed. Flink: WindowedStream, AllWindowedStream."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, Self

from flowsim.datastream.building.operator_factories import AnyReduce, check_reduce
from flowsim.datastream.building.window_operator_builder import (
    AnyAllWindowFunction,
    AnyApplyAllFunction,
    AnyApplyFunction,
    AnyProcessAllWindowFunction,
    AnyProcessWindowFunction,
    AnyWindowFunction,
    Fold,
    WindowOperatorBuilder,
)
from flowsim.datastream.functions import (
    AggregateFunction,
    AllWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
)
from flowsim.datastream.job_builder import JobBuilder
from flowsim.datastream.output_tag import OutputTag
from flowsim.datastream.pyflink_way import is_pyflink_way
from flowsim.datastream.streams.stream import S, Stream
from flowsim.errors import BadInput
from flowsim.operators.windowing.assigners.count_windows import CountSlidingWindowAssigner, CountTumblingWindowAssigner
from flowsim.operators.windowing.assigners.window_assigner import AnyWindowAssigner, GlobalWindows
from flowsim.operators.windowing.evictors import CountEvictor, Evictor
from flowsim.operators.windowing.triggers.count_triggers import CountTrigger
from flowsim.operators.windowing.triggers.nested_triggers import PurgingTrigger
from flowsim.operators.windowing.triggers.trigger import AnyTrigger
from flowsim.values.durations import Duration, Time
from flowsim.values.types import TypeInformation, Types


class WindowsOfStream(Generic[S]):
    """The window settings that both kinds of windowed streams share."""

    def __init__(self, stream: Stream[S], window_assigner: AnyWindowAssigner) -> None:
        self._stream = stream
        self._builder = WindowOperatorBuilder(window_assigner)

    def get_execution_environment(self) -> JobBuilder:
        return self._stream.get_execution_environment()

    def get_input_type(self) -> TypeInformation | None:
        """Returns the declared type of the records."""
        return self._stream.get_type()

    def trigger(self, trigger: AnyTrigger) -> Self:
        """Replaces the assigner's default trigger; raises BadInput if the windows merge and the trigger cannot (rule
        10.24).
        """
        self._builder = self._builder.trigger(trigger)
        return self

    def evictor(self, evictor: Evictor) -> Self:
        """Sets an evictor, which removes records from a window that fires, as in Java.

        The window then stores all records unreduced (rule 10.30).
        """
        self._builder = self._builder.evictor(evictor)
        return self

    def allowed_lateness(self, time_ms: int | Duration | Time) -> Self:
        """Sets how long after its end a window accepts records, in ms (rule 10.8)."""
        self._builder = self._builder.allowed_lateness(time_ms)
        return self

    def side_output_late_data(self, output_tag: OutputTag) -> Self:
        """Sends late records to a side output instead of counting them as dropped (rule 10.10)."""
        self._builder = self._builder.side_output_late_data(output_tag)
        return self

    def counted(self, size: int, slide: int) -> Self:
        """Creates windows by count; raises BadInput unless size >= 1 and slide >= 0."""
        for name, number, least in (("size", size, 1), ("slide", slide, 0)):
            if type(number) is not int or number < least:
                raise BadInput(f"count window: {name}: expected an integer >= {least}, got {number!r}")
        if slide == 0:
            return self.trigger(PurgingTrigger(CountTrigger(size)))
        return self.evictor(CountEvictor(size)).trigger(CountTrigger(slide))


class WindowedStream(WindowsOfStream[S]):
    """Windows of a keyed stream, before the function is set. PyFlink: WindowedStream."""

    def reduce(
        self,
        reduce_function: AnyReduce,
        window_function: AnyWindowFunction | None = None,
        output_type: TypeInformation | None = None,
    ) -> S:
        """Reduces the records of a key and window to one value as they arrive; a window function may process it."""
        check_reduce(reduce_function, "window: reduce")
        if output_type is None and window_function is None:
            output_type = self.get_input_type()
        return self._windowed("Reduce", reduce_function, window_function, output_type)

    def aggregate(
        self,
        aggregate_function: AggregateFunction,
        window_function: AnyWindowFunction | None = None,
        accumulator_type: TypeInformation | None = None,
        output_type: TypeInformation | None = None,
    ) -> S:
        """Aggregates the records of a key and window as they arrive; a window function may process the result."""
        if not isinstance(aggregate_function, AggregateFunction):
            raise TypeError(f"window: aggregate: expected an AggregateFunction, got {aggregate_function!r}")
        return self._windowed("Aggregate", aggregate_function, window_function, output_type)

    def apply(self, window_function: AnyApplyFunction, output_type: TypeInformation | None = None) -> S:
        """Applies a WindowFunction to all records of a key and window."""
        if not isinstance(window_function, WindowFunction):
            raise TypeError(f"window: apply: expected a WindowFunction, got {window_function!r}")
        return self._windowed("Apply", None, window_function, output_type)

    def process(
        self, process_window_function: AnyProcessWindowFunction, output_type: TypeInformation | None = None
    ) -> S:
        """Applies a ProcessWindowFunction to all records of a key and window."""
        if not isinstance(process_window_function, ProcessWindowFunction):
            raise TypeError(f"window: process: expected a ProcessWindowFunction, got {process_window_function!r}")
        return self._windowed("Process", None, process_window_function, output_type)

    def apply_as(
        self, what: str, function: AnyApplyFunction, output_type: TypeInformation | None, more: Mapping[str, object]
    ) -> S:
        """Applies a WindowFunction of a join or co-group; ``more`` is additional information for the laws."""
        return self._windowed(what, None, function, output_type, more)

    def _windowed(
        self,
        what: str,
        fold: Fold | None,
        function: AnyWindowFunction | None,
        output_type: TypeInformation | None,
        more: Mapping[str, object] | None = None,
    ) -> S:
        if function is not None and not isinstance(function, ProcessWindowFunction | WindowFunction):
            raise TypeError(
                f"window: {what.lower()}: expected a ProcessWindowFunction or a WindowFunction, got {function!r}"
            )
        builder = self._builder
        params = {**builder.described(), **(more or {})}
        name = f"{type(builder.assigner).__name__} {what}"
        make = builder.build(what, fold, function)
        return self._stream.add_operator(name, "window", make, output_type, params)


class AllWindowedStream(WindowsOfStream[S]):
    """Windows of a whole stream, before the function is set, which runs at parallelism 1. PyFlink: AllWindowedStream.

    Internally all records have one key, 0.
    """

    def reduce(
        self,
        reduce_function: AnyReduce,
        window_function: AnyAllWindowFunction | None = None,
        output_type: TypeInformation | None = None,
    ) -> S:
        """Reduces the records of a window to one value as they arrive; a window function may process it."""
        check_reduce(reduce_function, "window_all: reduce")
        if output_type is None and window_function is None:
            output_type = self.get_input_type()
        return self._windowed("Reduce", reduce_function, window_function, output_type)

    def aggregate(
        self,
        aggregate_function: AggregateFunction,
        window_function: AnyAllWindowFunction | None = None,
        accumulator_type: TypeInformation | None = None,
        output_type: TypeInformation | None = None,
    ) -> S:
        """Aggregates the records of a window as they arrive; a window function may process the result."""
        if not isinstance(aggregate_function, AggregateFunction):
            raise TypeError(f"window_all: aggregate: expected an AggregateFunction, got {aggregate_function!r}")
        return self._windowed("Aggregate", aggregate_function, window_function, output_type)

    def apply(self, window_function: AnyApplyAllFunction, output_type: TypeInformation | None = None) -> S:
        """Applies an AllWindowFunction to all records of a window."""
        if not isinstance(window_function, AllWindowFunction):
            raise TypeError(f"window_all: apply: expected an AllWindowFunction, got {window_function!r}")
        return self._windowed("Apply", None, window_function, output_type)

    def process(
        self, process_window_function: AnyProcessAllWindowFunction, output_type: TypeInformation | None = None
    ) -> S:
        """Applies a ProcessAllWindowFunction to all records of a window."""
        if not isinstance(process_window_function, ProcessAllWindowFunction):
            raise TypeError(
                f"window_all: process: expected a ProcessAllWindowFunction, got {process_window_function!r}"
            )
        return self._windowed("Process", None, process_window_function, output_type)

    def _windowed(
        self, what: str, fold: Fold | None, function: AnyAllWindowFunction | None, output_type: TypeInformation | None
    ) -> S:
        if function is not None and not isinstance(function, ProcessAllWindowFunction | AllWindowFunction):
            raise TypeError(
                f"window_all: {what.lower()}: expected a ProcessAllWindowFunction or an AllWindowFunction, "
                f"got {function!r}"
            )
        builder = self._builder
        params = builder.described(window_all=True)
        make = builder.build(what, fold, function)
        name = f"{type(builder.assigner).__name__} {what}"
        stream = self._stream.key_by(_one_key, Types.BYTE()).add_operator(name, "window", make, output_type, params)
        operator = stream._operator("window_all")
        operator.set_parallelism(1)
        operator.max_parallelism = operator.required_parallelism = 1
        operator.required_because = "windows of a stream without keys run in one subtask"
        return stream


def _one_key(value: object) -> int:
    return 0


def count_windows(stream: Stream[S], size: int, slide: int) -> WindowedStream[S]:
    """Returns windows of ``size`` records of a key: Java's global windows, or PyFlink's windows in a program for it."""
    if not is_pyflink_way():
        return WindowedStream(stream, GlobalWindows()).counted(size, slide)
    assigner = CountSlidingWindowAssigner(size, slide) if slide else CountTumblingWindowAssigner(size)
    return WindowedStream(stream, assigner)
