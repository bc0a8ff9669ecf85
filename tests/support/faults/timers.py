"""Faulty timers of an operator."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from flowsim.facts.tracer import TaskTrace
from flowsim.timers.heap_priority_queue import HeapPriorityQueueSet
from flowsim.timers.internal_time_service_manager import CreateQueue, InternalTimeServiceManager
from flowsim.timers.internal_timer import InternalTimer
from flowsim.timers.internal_timer_service import CancellationContext, InternalTimerService, KeyContext
from flowsim.timers.key_groups import KeyGroups
from flowsim.timers.processing_time_service import ProcessingTimeCallback, ProcessingTimeService, TimerHandle
from flowsim.timers.recorded_timer_service import KeyFacts
from flowsim.units import MAX_WATERMARK

N = TypeVar("N", bound=Hashable)


class DuplicatingTimerQueue(HeapPriorityQueueSet):
    """A queue that keeps the first timer that is removed."""

    __slots__ = ("_has_duplicated",)

    def __init__(self, key_groups: KeyGroups) -> None:
        super().__init__(key_groups)
        self._has_duplicated = False

    def poll(self, until: int = MAX_WATERMARK) -> InternalTimer | None:
        timer = super().poll(until)
        if timer is not None and not self._has_duplicated:
            self._has_duplicated = True
            self.add(InternalTimer(timer.timestamp, timer.key, timer.key_id, timer.namespace))
        return timer


class LosingTimerQueue(HeapPriorityQueueSet):
    """A queue that drops the first timer that is added."""

    __slots__ = ("_has_lost",)

    def __init__(self, key_groups: KeyGroups) -> None:
        super().__init__(key_groups)
        self._has_lost = False

    def add(self, timer: InternalTimer) -> bool:
        if not self._has_lost:
            self._has_lost = True
            return False
        return super().add(timer)


class ForgetfulProcessingTime:
    """A processing time that forgets the first system timer."""

    __slots__ = ("_has_forgotten", "_processing_time")

    def __init__(self, processing_time: ProcessingTimeService) -> None:
        self._processing_time = processing_time
        self._has_forgotten = False

    def current_processing_time_ms(self) -> int:
        return self._processing_time.current_processing_time_ms()

    def register_timer(
        self, timestamp_ms: int, callback: ProcessingTimeCallback, *, daemon_while_not: Callable[[], bool] | None = None
    ) -> TimerHandle:
        handle = self._processing_time.register_timer(timestamp_ms, callback, daemon_while_not=daemon_while_not)
        if not self._has_forgotten:
            self._has_forgotten = True
            handle.cancel()
        return handle

    def schedule_with_fixed_delay(
        self, delay_ms: int, callback: ProcessingTimeCallback, *, daemon_while_not: Callable[[], bool]
    ) -> None:
        self._processing_time.schedule_with_fixed_delay(delay_ms, callback, daemon_while_not=daemon_while_not)


class UnarmedTimeServiceManager(InternalTimeServiceManager):
    """A manager that registers no system timers for restored timers (FLINK-4651)."""

    __slots__ = ()

    def start(self) -> None:
        """Does nothing."""


class StaleKeyContext:
    """A key context that once keeps the current key instead of changing it."""

    __slots__ = ("_context", "_was_stale")

    def __init__(self, context: KeyContext) -> None:
        self._context = context
        self._was_stale = False

    @property
    def current_key(self) -> object:
        return self._context.current_key

    @property
    def current_key_id(self) -> object:
        return self._context.current_key_id

    def set_current_key(self, key: object, key_id: object) -> None:
        if not self._was_stale and self._context.current_key_id not in (None, key_id):
            self._was_stale = True
        else:
            self._context.set_current_key(key, key_id)


class EarlyTimeServiceManager(InternalTimeServiceManager):
    """A manager whose services each fire one event-time timer before the timer is due."""

    __slots__ = ("_early",)

    def __init__(
        self,
        key_context: KeyContext,
        processing_time: ProcessingTimeService,
        operator: int,
        trace: TaskTrace | None,
        key_facts: KeyFacts | None,
        key_groups: KeyGroups,
        cancellation: CancellationContext,
        create_queue: CreateQueue,
    ) -> None:
        super().__init__(
            key_context, processing_time, operator, trace, key_facts, key_groups, cancellation, create_queue
        )
        self._early: set[str] = set()
        """Names of the services that fired a timer early."""

    def advance_watermark(self, timestamp: int) -> None:
        for service in self._in_order:
            self._advance(service, timestamp, None)

    def try_advance_watermark(self, timestamp: int, should_stop: Callable[[], bool]) -> bool:
        return all(self._advance(service, timestamp, should_stop) for service in self._in_order)

    def _advance(
        self, service: InternalTimerService[Any], timestamp: int, should_stop: Callable[[], bool] | None
    ) -> bool:
        done = service.try_advance_watermark(timestamp, should_stop)
        if done and service.name not in self._early:
            timer = service.event_time_timers.poll()
            if timer is not None:
                self._early.add(service.name)
                service.key_context.set_current_key(timer.key, timer.key_id)
                service.triggerable.on_event_time(timer)
                service.fired_timers += 1
        return done
