"""A stream without keys cut into windows. Flink: AllWindowedStream."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowsim.datastream.functions import AggregateFunction, AllWindowFunction, ProcessAllWindowFunction
from flowsim.datastream.reduce import AnyReduce, check_reduce
from flowsim.datastream.window_operator_builder import (
    AnyAllWindowFunction,
    AnyApplyAllFunction,
    AnyProcessAllWindowFunction,
    Fold,
)
from flowsim.datastream.windows_of_stream import WindowsOfStream
from flowsim.values import TypeInformation, Types

if TYPE_CHECKING:
    from flowsim.datastream.data_stream import DataStream


class AllWindowedStream(WindowsOfStream):
    """Windows of a whole stream, on their way to a function of parallelism 1. PyFlink: AllWindowedStream.

    Inside, all records have one key, 0.
    """

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
        stream = self._stream.key_by(_one_key, Types.BYTE()).put_behind(name, "window", make, output_type, params)
        operator = stream._operator("window_all")
        operator.set_parallelism(1)
        operator.max_parallelism = operator.required_parallelism = 1
        operator.required_because = "the windows of a stream without keys are all in one place"
        return stream


def _one_key(value: object) -> int:
    return 0
