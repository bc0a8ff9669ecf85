"""All timer services of one operator. Flink: InternalTimeServiceManagerImpl (rule 9.12)."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Protocol, TypeVar

from flowsim.facts.tracer import TaskTrace
from flowsim.timers.broken_timers import (
    TIMER_FIRES_EARLY,
    TIMER_UNDER_WRONG_KEY,
    HastyTimers,
    KeyContextThatStays,
    queue_factory,
)
from flowsim.timers.heap_priority_queue import HeapPriorityQueueSet
from flowsim.timers.internal_timer_service import InternalTimerService, KeyContext, Triggerable
from flowsim.timers.key_facts import KeyFacts
from flowsim.timers.processing_time_service import ProcessingTimeService
from flowsim.timers.traced_internal_timer_service import TimerTrace, TracedInternalTimerService

N = TypeVar("N", bound=Hashable)


def no_window(namespace: object) -> tuple[int, int]:
    """What a recording shows of a timer that belongs to no window."""
    return 0, 0


class _Advancing(Protocol):
    def advance_watermark(self, timestamp: int) -> None: ...


class InternalTimeServiceManager:
    """Creates the timer services of an operator and advances them together. Flink: InternalTimeServiceManagerImpl.

    Several services advance in the order of their creation; in Flink that order is a hash map's (rule 9.12).
    """

    __slots__ = ("_key_context", "_processing_time", "_trace", "_operator", "_key_facts", "_faults", "_services")

    def __init__(
        self, key_context: KeyContext, processing_time: ProcessingTimeService, operator: int = 0,
        trace: TaskTrace | None = None, key_facts: KeyFacts | None = None, faults: frozenset[str] = frozenset(),
    ) -> None:  # fmt: skip
        """``trace`` is that of level full, or None; with it ``key_facts`` must be given."""
        self._key_context = KeyContextThatStays(key_context) if TIMER_UNDER_WRONG_KEY in faults else key_context
        self._processing_time = processing_time
        self._trace = trace
        self._operator = operator
        self._key_facts = key_facts
        self._faults = faults
        self._services: dict[str, _Advancing] = {}

    def internal_timer_service(
        self, name: str, triggerable: Triggerable[N], window_of: Callable[[N], tuple[int, int]]
    ) -> InternalTimerService[N]:
        """A new service; ``window_of`` is what a recording shows of a namespace: start and end.

        Raises ValueError for a name in use.
        """
        if name in self._services:
            raise ValueError(f"there is a timer service named {name!r} already")
        service = self._create(name, triggerable, window_of)
        self._services[name] = HastyTimers(service) if TIMER_FIRES_EARLY in self._faults else service
        return service

    def _create(
        self, name: str, triggerable: Triggerable[N], window_of: Callable[[N], tuple[int, int]]
    ) -> InternalTimerService[N]:
        create_queue: Callable[[], HeapPriorityQueueSet[N]] = queue_factory(self._faults)
        if self._trace is None or self._key_facts is None:
            return InternalTimerService(name, self._key_context, self._processing_time, triggerable, create_queue)
        timer_trace = TimerTrace(self._trace, self._operator, self._key_facts, window_of, len(self._services))
        return TracedInternalTimerService(
            name, self._key_context, self._processing_time, triggerable, timer_trace, create_queue
        )

    def advance_watermark(self, timestamp: int) -> None:
        """Fires what is due in every service (rule 9.12)."""
        for service in self._services.values():
            service.advance_watermark(timestamp)
