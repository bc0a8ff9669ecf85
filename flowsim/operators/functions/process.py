"""User functions with access to time, and on keyed streams to state and timers. Flink: ProcessOperator,
KeyedProcessOperator.
"""

from __future__ import annotations

from typing import Protocol

from mypy_extensions import mypyc_attr

from flowsim.operators.functions.timer_services import KeyedTimerService, ReadOnlyTimerService, TimeDomain, TimerService
from flowsim.operators.keyed_operator import KeyedOperator
from flowsim.operators.runtime_context import RuntimeContext
from flowsim.operators.stream_operator import OperatorContext, StreamOperator, Value
from flowsim.operators.user_functions import FunctionLife, Results, UserFunction, emit_results
from flowsim.streamrecord.elements import OutputTag
from flowsim.streamrecord.output import Output
from flowsim.timers.internal_time_service_manager import no_window
from flowsim.timers.internal_timer import InternalTimer
from flowsim.timers.internal_timer_service import InternalTimerService
from flowsim.units import NO_TIMESTAMP
from flowsim.values.keys import state_key


@mypyc_attr(allow_interpreted_subclasses=True)
class ProcessContext:
    """The context of the current element or timer. Flink: ProcessFunction.Context, OnTimerContext.

    Each operator reuses one object, so the function must not keep the context after the call.
    """

    __slots__ = ("_timestamp", "_emit_timestamp", "_key", "_time_domain", "_timer_service", "_output")

    def __init__(self, timer_service: TimerService, output: Output) -> None:
        self._timestamp: int | None = None
        self._emit_timestamp: int | None = None
        self._key: Value = None
        self._time_domain: TimeDomain | None = None
        self._timer_service = timer_service
        self._output = output

    def set_current(
        self, timestamp: int | None, emit_timestamp: int | None, key: Value, domain: TimeDomain | None
    ) -> None:
        """Sets the current element or timer; the operator calls it before each call of the function."""
        self._timestamp = timestamp
        self._emit_timestamp = emit_timestamp
        self._key = key
        self._time_domain = domain

    def timestamp(self) -> int | None:
        """Returns the timestamp in ms of the element (None if it has none) or of the timer."""
        return self._timestamp

    def timer_service(self) -> TimerService:
        return self._timer_service

    def get_current_key(self) -> Value:
        """Returns the current key; None on a stream without keys."""
        return self._key

    def time_domain(self) -> TimeDomain | None:
        """Returns the time domain of the timer that fires; None for an element."""
        return self._time_domain

    def output(self, tag: OutputTag, value: Value) -> None:
        """Emits to a side output at once; ``yield tag, value`` emits in order with the results."""
        timestamp = self._emit_timestamp
        self._output.collect_side(tag, value, NO_TIMESTAMP if timestamp is None else timestamp)


class ProcessFunction(Protocol):
    """Yields or returns results for each element. Flink: ProcessFunction."""

    def open(self, runtime_context: RuntimeContext) -> None: ...

    def close(self) -> None: ...

    def process_element(self, value: Value, ctx: ProcessContext) -> Results: ...


class KeyedProcessFunction(ProcessFunction, Protocol):
    """Yields or returns results for each element, with keyed state and timers. Flink: KeyedProcessFunction."""

    def on_timer(self, timestamp: int, ctx: ProcessContext) -> Results: ...


class ProcessOperator(StreamOperator):
    """Runs a ProcessFunction on a stream without keys. Flink: ProcessOperator."""

    __slots__ = ("_function", "_life", "_context", "_timer_service")

    _context: ProcessContext
    _timer_service: ReadOnlyTimerService

    def __init__(self, function: ProcessFunction) -> None:
        self._function = function
        self._life = FunctionLife(function)

    def setup(self, ctx: OperatorContext, output: Output) -> None:
        super().setup(ctx, output)
        self._timer_service = ReadOnlyTimerService(ctx.processing_time)
        self._context = ProcessContext(self._timer_service, output)

    def open(self) -> None:
        self._life.open(RuntimeContext(self.ctx, None))

    def process_element(self, value: Value, timestamp: int | None) -> None:
        self.clock.now_ns += self.cost_ns
        self.records_in += 1
        self._context.set_current(timestamp, timestamp, None, None)
        emit_results(self._function.process_element(value, self._context), timestamp, self.output)

    def process_watermark(self, timestamp: int) -> None:
        self._timer_service.watermark = timestamp
        self.output.emit_watermark(timestamp)

    def close(self) -> None:
        self._life.close()


class TimedFunction(UserFunction, Protocol):
    """A user function with timers; the common part of functions with one or two keyed inputs."""

    def on_timer(self, timestamp: int, ctx: ProcessContext) -> Results: ...


@mypyc_attr(allow_interpreted_subclasses=True)
class KeyedFunctionOperator(KeyedOperator):
    """Life cycle and timers of a user function on keyed streams; subclasses process the elements.

    Results of ``on_timer`` have the timer's timestamp; results of processing-time timers have none in the main output.
    """

    __slots__ = ("_on_timer", "_life", "_context", "_timers")

    _context: ProcessContext
    _timers: InternalTimerService[None]

    def __init__(self, function: TimedFunction) -> None:
        self._on_timer = function.on_timer
        self._life = FunctionLife(function)

    def use_interruptible_timers(self) -> bool:
        """Returns the function's setting for its timers. Flink: AbstractUdfStreamOperator."""
        return self._life.use_interruptible_timers()

    def setup(self, ctx: OperatorContext, output: Output) -> None:
        super().setup(ctx, output)
        self._timers = self.time_services.internal_timer_service("user-timers", self, no_window)
        self._context = ProcessContext(KeyedTimerService(self._timers), output)

    def open(self) -> None:
        super().open()
        self._life.open(self.runtime_context)

    def on_event_time(self, timer: InternalTimer) -> None:
        self._context.set_current(timer.timestamp, timer.timestamp, timer.key, TimeDomain.EVENT_TIME)
        emit_results(self._on_timer(timer.timestamp, self._context), timer.timestamp, self.output)

    def on_processing_time(self, timer: InternalTimer) -> None:
        self._context.set_current(timer.timestamp, timer.timestamp, timer.key, TimeDomain.PROCESSING_TIME)
        emit_results(self._on_timer(timer.timestamp, self._context), None, self.output, timer.timestamp)

    def close(self) -> None:
        self._life.close()


class KeyedProcessOperator(KeyedFunctionOperator):
    """Runs a KeyedProcessFunction. Flink: KeyedProcessOperator."""

    __slots__ = ("_function",)

    def __init__(self, function: KeyedProcessFunction) -> None:
        super().__init__(function)
        self._function = function

    def process_element(self, value: Value, timestamp: int | None) -> None:
        self.clock.now_ns += self.cost_ns
        self.records_in += 1
        key = self.key_selector(value)
        self.set_current_key(key, state_key(key))
        self._context.set_current(timestamp, timestamp, key, None)
        emit_results(self._function.process_element(value, self._context), timestamp, self.output)
