"""A keyed stream cut into windows. Flink: WindowedStream."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol, Self, TypeVar

from flowsim.datastream.common.time import Duration, Time
from flowsim.datastream.functions import AggregateFunction, ProcessWindowFunction, WindowFunction
from flowsim.datastream.output_tag import OutputTag
from flowsim.datastream.reduce import AnyReduce, check_reduce
from flowsim.datastream.window_operator_builder import (
    AnyApplyFunction,
    AnyProcessWindowFunction,
    AnyWindowFunction,
    Fold,
    WindowOperatorBuilder,
)
from flowsim.errors import BadInput
from flowsim.operators.windowing.assigners import WindowAssigner
from flowsim.operators.windowing.evictors import CountEvictor, Evictor
from flowsim.operators.windowing.triggers import CountTrigger, PurgingTrigger, Trigger
from flowsim.values import TypeInformation

if TYPE_CHECKING:
    from flowsim.datastream.data_stream import DataStream
    from flowsim.datastream.environment import StreamExecutionEnvironment
    from flowsim.datastream.keyed_stream import KeyedStream


class WindowedStream:
    """Windows of a keyed stream, on their way to a function. PyFlink: WindowedStream."""

    def __init__(self, keyed_stream: KeyedStream, window_assigner: WindowAssigner) -> None:
        self._keyed_stream = keyed_stream
        self._builder = WindowOperatorBuilder(window_assigner)

    def get_execution_environment(self) -> StreamExecutionEnvironment:
        return self._keyed_stream.get_execution_environment()

    def get_input_type(self) -> TypeInformation | None:
        """The declared type of the records."""
        return self._keyed_stream.get_type()

    def trigger(self, trigger: Trigger) -> Self:
        """Replaces the assigner's own trigger; raises BadInput if the windows merge and it cannot (rule 10.24)."""
        self._builder = self._builder.trigger(trigger)
        return self

    def evictor(self, evictor: Evictor) -> Self:
        """As in Java: takes records out of a window that fires; then nothing is folded before (rule 10.30)."""
        self._builder = self._builder.evictor(evictor)
        return self

    def allowed_lateness(self, time_ms: int | Duration | Time) -> Self:
        """How many ms after its end a window still takes records (rule 10.8)."""
        self._builder = self._builder.allowed_lateness(time_ms)
        return self

    def side_output_late_data(self, output_tag: OutputTag) -> Self:
        """Keeps late records in a side output instead of counting them as dropped (rule 10.10)."""
        self._builder = self._builder.side_output_late_data(output_tag)
        return self

    def reduce(
        self,
        reduce_function: AnyReduce,
        window_function: AnyWindowFunction | None = None,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """One value per key and window, reduced as records come; a window function may finish it."""
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
    ) -> DataStream:
        """One result per key and window, aggregated as records come; a window function may finish it."""
        if not isinstance(aggregate_function, AggregateFunction):
            raise TypeError(f"window: aggregate: expected an AggregateFunction, got {aggregate_function!r}")
        return self._windowed("Aggregate", aggregate_function, window_function, output_type)

    def apply(self, window_function: AnyApplyFunction, output_type: TypeInformation | None = None) -> DataStream:
        """A WindowFunction over all records of a key and window."""
        if not isinstance(window_function, WindowFunction):
            raise TypeError(f"window: apply: expected a WindowFunction, got {window_function!r}")
        return self._windowed("Apply", None, window_function, output_type)

    def process(
        self, process_window_function: AnyProcessWindowFunction, output_type: TypeInformation | None = None
    ) -> DataStream:
        """A ProcessWindowFunction over all records of a key and window."""
        if not isinstance(process_window_function, ProcessWindowFunction):
            raise TypeError(f"window: process: expected a ProcessWindowFunction, got {process_window_function!r}")
        return self._windowed("Process", None, process_window_function, output_type)

    def apply_as(
        self, what: str, function: AnyApplyFunction, output_type: TypeInformation | None, more: Mapping[str, object]
    ) -> DataStream:
        """``apply`` for a WindowFunction that makes windows something else; ``more`` is what judges know of it."""
        return self._windowed(what, None, function, output_type, more)

    def _windowed(
        self, what: str, fold: Fold | None, function: AnyWindowFunction | None, output_type: TypeInformation | None,
        more: Mapping[str, object] | None = None,
    ) -> DataStream:  # fmt: skip
        if function is not None and not isinstance(function, ProcessWindowFunction | WindowFunction):
            raise TypeError(
                f"window: {what.lower()}: expected a ProcessWindowFunction or a WindowFunction, got {function!r}"
            )
        builder = self._builder
        params = {**builder.described(), **(more or {})}
        name = f"{type(builder.assigner).__name__} {what}"
        make = builder.build(what, fold, function)
        return self._keyed_stream._transform(name, "window", make, output_type, params)


class CountableWindows(Protocol):
    """Windows of a stream with keys or without."""

    def trigger(self, trigger: Trigger) -> Self: ...

    def evictor(self, evictor: Evictor) -> Self: ...


W = TypeVar("W", bound=CountableWindows)


def counted(windows: W, size: int, slide: int) -> W:
    """Global windows cut by count; raises BadInput unless size >= 1 and slide >= 0. Flink: KeyedStream.countWindow."""
    for name, number, least in (("size", size, 1), ("slide", slide, 0)):
        if type(number) is not int or number < least:
            raise BadInput(f"count window: {name}: expected an integer >= {least}, got {number!r}")
    if slide == 0:
        return windows.trigger(PurgingTrigger(CountTrigger(size)))
    return windows.evictor(CountEvictor(size)).trigger(CountTrigger(slide))
