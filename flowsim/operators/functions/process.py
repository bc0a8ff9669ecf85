"""User functions with access to time, and on keyed streams to state and timers. Flink: ProcessOperator,
KeyedProcessOperator.
"""

from __future__ import annotations

from enum import Enum
from typing import Protocol

from mypy_extensions import mypyc_attr

from flowsim.errors import BadInput
from flowsim.operators.keyed_operator import KeyedOperator
from flowsim.operators.runtime_context import RuntimeContext
from flowsim.operators.stream_operator import OperatorContext, StreamOperator, Value, checked_timestamp
from flowsim.operators.user_functions import FunctionLife, Results, UserFunction, emit_results
from flowsim.streamrecord.elements import OutputTag
from flowsim.streamrecord.output import Output
from flowsim.timers.internal_time_service_manager import no_window
from flowsim.timers.internal_timer import InternalTimer
from flowsim.timers.internal_timer_service import InternalTimerService
from flowsim.timers.processing_time_service import ProcessingTimeService
from flowsim.units import NO_TIMESTAMP
from flowsim.values.keys import state_key


class TimeDomain(Enum):
    """The kind of time of a timer. Flink: TimeDomain."""

    EVENT_TIME = 0
    PROCESSING_TIME = 1


class TimerService(Protocol):
    """Time and timers for user functions; times in ms. Flink: TimerService."""

    def current_processing_time(self) -> int: ...

    def current_watermark(self) -> int: ...

    def register_processing_time_timer(self, timestamp: int) -> None: ...

    def register_event_time_timer(self, timestamp: int) -> None: ...

    def delete_processing_time_timer(self, timestamp: int) -> None: ...

    def delete_event_time_timer(self, timestamp: int) -> None: ...


class ReadOnlyTimerService:
    """The timer service of a stream without keys; it gives the time, but timers need keys (rule 9.17).

    Flink: ProcessOperator.ContextImpl.
    """

    __slots__ = ("watermark", "_processing_time")

    def __init__(self, processing_time: ProcessingTimeService) -> None:
        self.watermark = NO_TIMESTAMP
        self._processing_time = processing_time

    def current_processing_time(self) -> int:
        return self._processing_time.current_processing_time_ms()

    def current_watermark(self) -> int:
        return self.watermark

    def register_processing_time_timer(self, timestamp: int) -> None:
        raise self._needs_keys()

    def register_event_time_timer(self, timestamp: int) -> None:
        raise self._needs_keys()

    def delete_processing_time_timer(self, timestamp: int) -> None:
        raise self._needs_keys()

    def delete_event_time_timer(self, timestamp: int) -> None:
        raise self._needs_keys()

    def _needs_keys(self) -> BadInput:
        return BadInput("timers are only available on a keyed stream: put key_by(...) before process(...) (rule 9.17)")


class KeyedTimerService:
    """The timer service of a keyed stream: timers of the current key. Flink: SimpleTimerService."""

    __slots__ = ("_timers",)

    def __init__(self, timers: InternalTimerService[None]) -> None:
        self._timers = timers

    def current_processing_time(self) -> int:
        return self._timers.current_processing_time_ms()

    def current_watermark(self) -> int:
        return self._timers.current_watermark

    def register_processing_time_timer(self, timestamp: object) -> None:
        self._timers.register_processing_time_timer(
            None, checked_timestamp(timestamp, "register_processing_time_timer")
        )

    def register_event_time_timer(self, timestamp: object) -> None:
        self._timers.register_event_time_timer(None, checked_timestamp(timestamp, "register_event_time_timer"))

    def delete_processing_time_timer(self, timestamp: object) -> None:
        self._timers.delete_processing_time_timer(None, checked_timestamp(timestamp, "delete_processing_time_timer"))

    def delete_event_time_timer(self, timestamp: object) -> None:
        self._timers.delete_event_time_timer(None, checked_timestamp(timestamp, "delete_event_time_timer"))


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
