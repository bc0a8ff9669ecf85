"""The time and the timers of user functions."""

from __future__ import annotations

from enum import Enum
from typing import Protocol

from flowsim.errors import BadInput
from flowsim.operators.stream_operator import checked_timestamp
from flowsim.timers.internal_timer_service import InternalTimerService
from flowsim.timers.processing_time_service import ProcessingTimeService
from flowsim.units import NO_TIMESTAMP


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

    def register_processing_time_timer(self, timestamp: int) -> None:
        self._timers.register_processing_time_timer(
            None, checked_timestamp(timestamp, "register_processing_time_timer")
        )

    def register_event_time_timer(self, timestamp: int) -> None:
        self._timers.register_event_time_timer(None, checked_timestamp(timestamp, "register_event_time_timer"))

    def delete_processing_time_timer(self, timestamp: int) -> None:
        self._timers.delete_processing_time_timer(None, checked_timestamp(timestamp, "delete_processing_time_timer"))

    def delete_event_time_timer(self, timestamp: int) -> None:
        self._timers.delete_event_time_timer(None, checked_timestamp(timestamp, "delete_event_time_timer"))
