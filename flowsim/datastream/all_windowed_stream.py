"""A stream without keys cut into windows. Flink: AllWindowedStream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from flowsim.datastream.common.time import Duration, Time
from flowsim.datastream.functions import AggregateFunction, AllWindowFunction, ProcessAllWindowFunction
from flowsim.datastream.output_tag import OutputTag
from flowsim.datastream.reduce import AnyReduce, check_reduce
from flowsim.datastream.window_operator_builder import (
    AnyAllWindowFunction,
    AnyApplyAllFunction,
    AnyProcessAllWindowFunction,
    Fold,
    WindowOperatorBuilder,
)
from flowsim.operators.windowing.assigners import WindowAssigner
from flowsim.operators.windowing.evictors import Evictor
from flowsim.operators.windowing.triggers import Trigger
from flowsim.values import TypeInformation, Types

if TYPE_CHECKING:
    from flowsim.datastream.data_stream import DataStream
    from flowsim.datastream.environment import StreamExecutionEnvironment


class AllWindowedStream:
    """Windows of a whole stream, on their way to a function of parallelism 1. PyFlink: AllWindowedStream.

    Inside, all records have one key, 0.
    """

    def __init__(self, data_stream: DataStream, window_assigner: WindowAssigner) -> None:
        self._stream = data_stream
        self._builder = WindowOperatorBuilder(window_assigner)

    def get_execution_environment(self) -> StreamExecutionEnvironment:
        return self._stream.get_execution_environment()

    def get_input_type(self) -> TypeInformation | None:
        """The declared type of the records."""
        return self._stream.get_type()

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
        window_function: AnyAllWindowFunction | None = None,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """One value per window, reduced as records come; a window function may finish it."""
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
    ) -> DataStream:
        """One result per window, aggregated as records come; a window function may finish it."""
        if not isinstance(aggregate_function, AggregateFunction):
            raise TypeError(f"window_all: aggregate: expected an AggregateFunction, got {aggregate_function!r}")
        return self._windowed("Aggregate", aggregate_function, window_function, output_type)

    def apply(self, window_function: AnyApplyAllFunction, output_type: TypeInformation | None = None) -> DataStream:
        """An AllWindowFunction over all records of a window."""
        if not isinstance(window_function, AllWindowFunction):
            raise TypeError(f"window_all: apply: expected an AllWindowFunction, got {window_function!r}")
        return self._windowed("Apply", None, window_function, output_type)

    def process(
        self, process_window_function: AnyProcessAllWindowFunction, output_type: TypeInformation | None = None
    ) -> DataStream:
        """A ProcessAllWindowFunction over all records of a window."""
        if not isinstance(process_window_function, ProcessAllWindowFunction):
            raise TypeError(
                f"window_all: process: expected a ProcessAllWindowFunction, got {process_window_function!r}"
            )
        return self._windowed("Process", None, process_window_function, output_type)

    def _windowed(
        self, what: str, fold: Fold | None, function: AnyAllWindowFunction | None, output_type: TypeInformation | None
    ) -> DataStream:
        if function is not None and not isinstance(function, ProcessAllWindowFunction | AllWindowFunction):
            raise TypeError(
                f"window_all: {what.lower()}: expected a ProcessAllWindowFunction or an AllWindowFunction, "
                f"got {function!r}"
            )
        builder = self._builder
        params = builder.described(window_all=True)
        make = builder.build(what, fold, function)
        name = f"{type(builder.assigner).__name__} {what}"
        stream = self._stream.key_by(_one_key, Types.BYTE())._transform(name, "window", make, output_type, params)
        operator = stream._operator("window_all")
        operator.set_parallelism(1)
        operator.max_parallelism = operator.required_parallelism = 1
        operator.required_because = "the windows of a stream without keys are all in one place"
        return stream


def _one_key(value: object) -> int:
    return 0
