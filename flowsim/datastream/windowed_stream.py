"""A keyed stream cut into windows. Flink: WindowedStream."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from flowsim.datastream.functions import AggregateFunction, ProcessWindowFunction, WindowFunction
from flowsim.datastream.reduce import AnyReduce, check_reduce
from flowsim.datastream.window_operator_builder import (
    AnyApplyFunction,
    AnyProcessWindowFunction,
    AnyWindowFunction,
    Fold,
)
from flowsim.datastream.windows_of_stream import WindowsOfStream
from flowsim.values import TypeInformation

if TYPE_CHECKING:
    from flowsim.datastream.data_stream import DataStream


class WindowedStream(WindowsOfStream):
    """Windows of a keyed stream, on their way to a function. PyFlink: WindowedStream."""

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
        self,
        what: str,
        fold: Fold | None,
        function: AnyWindowFunction | None,
        output_type: TypeInformation | None,
        more: Mapping[str, object] | None = None,
    ) -> DataStream:
        if function is not None and not isinstance(function, ProcessWindowFunction | WindowFunction):
            raise TypeError(
                f"window: {what.lower()}: expected a ProcessWindowFunction or a WindowFunction, got {function!r}"
            )
        builder = self._builder
        params = {**builder.described(), **(more or {})}
        name = f"{type(builder.assigner).__name__} {what}"
        make = builder.build(what, fold, function)
        return self._stream.put_behind(name, "window", make, output_type, params)
