"""A keyed stream cut into windows. Flink: WindowedStream."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

from flowsim.datastream.common.time import Duration, Time, millis_of
from flowsim.datastream.functions import (
    AggregateFunction,
    Function,
    ProcessWindowFunction,
    ReduceFunction,
    WindowFunction,
    has_life_cycle,
)
from flowsim.datastream.isolation import isolated
from flowsim.datastream.output_tag import OutputTag
from flowsim.datastream.reduce import AnyReduce, check_reduce, reduce_of
from flowsim.datastream.window_description import describe_window
from flowsim.errors import BadInput
from flowsim.operators.stream_operator import StreamOperator
from flowsim.operators.windowing.assigners import WindowAssigner
from flowsim.operators.windowing.create_window_operator import create_window_operator
from flowsim.operators.windowing.triggers import Trigger
from flowsim.operators.windowing.window_contents import (
    AggregatingContents,
    ListContents,
    ReducingContents,
    WindowContents,
)
from flowsim.operators.windowing.window_functions import (
    InternalApplyWindowFunction,
    InternalProcessWindowFunction,
    InternalWindowFunction,
    PassThroughWindowFunction,
)
from flowsim.values import TypeInformation

if TYPE_CHECKING:
    from flowsim.datastream.data_stream import DataStream
    from flowsim.datastream.environment import StreamExecutionEnvironment
    from flowsim.datastream.keyed_stream import KeyedStream

AnyProcessWindowFunction = ProcessWindowFunction[Any, Any, Any, Any]
AnyApplyFunction = WindowFunction[Any, Any, Any, Any]
AnyWindowFunction = AnyProcessWindowFunction | AnyApplyFunction
Fold = ReduceFunction | AggregateFunction | Callable[[object, object], object]


class WindowedStream:
    """Windows of a keyed stream, on their way to a function. PyFlink: WindowedStream."""

    def __init__(self, keyed_stream: KeyedStream, window_assigner: WindowAssigner) -> None:
        if not callable(getattr(window_assigner, "assign_windows", None)):
            raise TypeError(f"window: expected a window assigner, got {window_assigner!r}")
        self._keyed_stream = keyed_stream
        self._assigner = window_assigner
        self._trigger: Trigger | None = None
        self._allowed_lateness_ms = 0
        self._late_tag: OutputTag | None = None

    def get_execution_environment(self) -> StreamExecutionEnvironment:
        return self._keyed_stream.get_execution_environment()

    def get_input_type(self) -> TypeInformation | None:
        """The declared type of the records."""
        return self._keyed_stream.get_type()

    def trigger(self, trigger: Trigger) -> Self:
        """Replaces the assigner's own trigger."""
        if not callable(getattr(trigger, "on_element", None)):
            raise TypeError(f"window: trigger: expected a trigger, got {trigger!r}")
        self._trigger = trigger
        return self

    def allowed_lateness(self, time_ms: int | Duration | Time) -> Self:
        """How many ms after its end a window still takes records (rule 10.8)."""
        lateness_ms = time_ms if isinstance(time_ms, int) else millis_of(time_ms, "window: allowed_lateness")
        if lateness_ms < 0:
            raise BadInput(f"window: allowed_lateness: expected 0 ms or more, got {lateness_ms}")
        self._allowed_lateness_ms = lateness_ms
        return self

    def side_output_late_data(self, output_tag: OutputTag) -> Self:
        """Keeps late records in a side output instead of counting them as dropped (rule 10.10)."""
        if not isinstance(output_tag, OutputTag):
            raise TypeError(f"window: side_output_late_data: expected an OutputTag, got {output_tag!r}")
        self._late_tag = output_tag
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

    def _windowed(
        self, what: str, fold: Fold | None, function: AnyWindowFunction | None, output_type: TypeInformation | None
    ) -> DataStream:
        if function is not None and not isinstance(function, ProcessWindowFunction | WindowFunction):
            raise TypeError(
                f"window: {what.lower()}: expected a ProcessWindowFunction or a WindowFunction, got {function!r}"
            )
        if isinstance(fold, Function) and has_life_cycle(fold):
            raise TypeError(
                f"window: {what.lower()}: {type(fold).__name__} is never opened or closed inside a window, as in Flink; "
                "open what it needs in a window function"
            )
        isolated((fold, function), f"window: {what.lower()}")
        # Frozen now: the same WindowedStream may go on to another function with other settings.
        assigner, trigger, lateness_ms, late_tag = (
            self._assigner, self._trigger, self._allowed_lateness_ms, self._late_tag,
        )  # fmt: skip

        def make(name: str) -> StreamOperator:
            mine, my_function, my_assigner, my_trigger = isolated((fold, function, assigner, trigger), name)
            internal = _internal_function(my_function, single_value=mine is not None)
            return create_window_operator(my_assigner, _contents(mine), internal, my_trigger, lateness_ms, late_tag)

        shown = trigger if trigger is not None else assigner.default_trigger()
        params = describe_window(assigner, shown, lateness_ms, late_tag is not None)
        name = f"{type(assigner).__name__} {what}"
        return self._keyed_stream._transform(name, "window", make, output_type, params)


def _contents(fold: Fold | None) -> WindowContents:
    if fold is None:
        return ListContents()
    if isinstance(fold, AggregateFunction):
        return AggregatingContents(fold)
    return ReducingContents(reduce_of(fold))


def _internal_function(function: AnyWindowFunction | None, single_value: bool) -> InternalWindowFunction:
    if function is None:
        return PassThroughWindowFunction()
    if isinstance(function, ProcessWindowFunction):
        return InternalProcessWindowFunction(function, single_value)
    return InternalApplyWindowFunction(function, single_value)
