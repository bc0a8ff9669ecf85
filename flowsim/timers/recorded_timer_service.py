"""A timer service that records registered, deleted and fired timers as facts. Flink: InternalTimerServiceImpl."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Final, Generic, TypeVar

from flowsim.facts.kinds import TimeDomain, TimerAction
from flowsim.facts.tracer import TaskTrace
from flowsim.timers.heap_priority_queue import HeapPriorityQueueSet
from flowsim.timers.internal_timer import InternalTimer
from flowsim.timers.internal_timer_service import CancellationContext, InternalTimerService, KeyContext, Triggerable
from flowsim.timers.key_groups import KeyGroups
from flowsim.timers.processing_time_service import ProcessingTimeService
from flowsim.values.java_hash_code import key_hash
from flowsim.values.keys import key_fingerprint, key_json


class KeyFacts:
    """Stores the hash and fingerprint of every key of one operator, and describes new keys in the recording."""

    __slots__ = ("_trace", "_key_type", "known")

    def __init__(self, trace: TaskTrace, key_type: str | None) -> None:
        self._trace = trace
        self._key_type = key_type
        self.known: dict[object, tuple[int, int]] = {}
        """``(key_hash, key)`` by ``state_key``."""

    def of(self, key: object, key_id: object) -> tuple[int, int]:
        """Returns ``(key_hash, key)`` as in the fact tables; ``key_id`` is ``state_key(key)``."""
        known = self.known.get(key_id)
        if known is None:
            known = (key_hash(key, self._key_type), key_fingerprint(key, self._key_type))
            self.known[key_id] = known
            if not self._trace.knows_key(known[1]):
                self._trace.key(known[1], known[0], *key_json(key, self._key_type))
        return known


N = TypeVar("N", bound=Hashable)

# Stored once: the lookup of an enum member takes longer than setting a timer.
_REGISTER: Final = TimerAction.REGISTER

_DELETE: Final = TimerAction.DELETE

_FIRE: Final = TimerAction.FIRE

_EVENT_TIME: Final = TimeDomain.EVENT_TIME

_PROCESSING_TIME: Final = TimeDomain.PROCESSING_TIME


class TimerTrace(Generic[N]):
    """Writes one row per registered, deleted or fired timer; calls without effect are not recorded."""

    __slots__ = ("_trace", "_operator", "_key_facts", "_window_of", "_service")

    def __init__(
        self,
        trace: TaskTrace,
        operator: int,
        key_facts: KeyFacts,
        window_of: Callable[[N], tuple[int, int]],
        service: int,
    ) -> None:
        self._trace = trace
        self._operator = operator
        self._key_facts = key_facts
        self._window_of = window_of
        self._service = service

    def record(self, action: TimerAction, domain: TimeDomain, timer: InternalTimer, watermark: int) -> None:
        self.record_under(timer.key, timer.key_id, action, domain, timer, watermark)

    def record_under(
        self,
        current_key: object,
        key_id: object,
        action: TimerAction,
        domain: TimeDomain,
        timer: InternalTimer,
        watermark: int,
    ) -> None:
        """Records a timer with the current key, which may differ from the timer's key."""
        key_hash, key = self._key_facts.of(current_key, key_id)
        window = self._window_of(timer.namespace)
        self._trace.timer(
            self._operator, action, domain, timer.timestamp, key_hash, key, window, watermark, self._service
        )


class _TracingTriggerable(Generic[N]):
    """Records that a timer fires, with the current key, and fires it."""

    __slots__ = ("_triggerable", "_timer_trace", "_key_context", "service")

    service: InternalTimerService[N]

    def __init__(self, triggerable: Triggerable, timer_trace: TimerTrace[N], key_context: KeyContext) -> None:
        self._triggerable = triggerable
        self._timer_trace = timer_trace
        self._key_context = key_context

    def on_event_time(self, timer: InternalTimer) -> None:
        self._record(_EVENT_TIME, timer)
        self._triggerable.on_event_time(timer)

    def on_processing_time(self, timer: InternalTimer) -> None:
        self._record(_PROCESSING_TIME, timer)
        self._triggerable.on_processing_time(timer)

    def _record(self, domain: TimeDomain, timer: InternalTimer) -> None:
        context = self._key_context
        self._timer_trace.record_under(
            context.current_key, context.current_key_id, _FIRE, domain, timer, self.service.current_watermark
        )


class TracedInternalTimerService(InternalTimerService[N]):
    """An InternalTimerService that records; a separate class, so that runs without recording have no overhead."""

    __slots__ = ("_timer_trace",)

    def __init__(
        self,
        name: str,
        key_context: KeyContext,
        processing_time: ProcessingTimeService,
        triggerable: Triggerable,
        timer_trace: TimerTrace[N],
        key_groups: KeyGroups | None = None,
        cancellation: CancellationContext | None = None,
        create_queue: Callable[[KeyGroups], HeapPriorityQueueSet] = HeapPriorityQueueSet,
    ) -> None:
        tracing = _TracingTriggerable(triggerable, timer_trace, key_context)
        super().__init__(name, key_context, processing_time, tracing, key_groups, cancellation, create_queue)
        tracing.service = self
        self._timer_trace = timer_trace

    def register_event_time_timer(self, namespace: N, timestamp: int) -> None:
        timer = self._timer(namespace, timestamp)
        if timer not in self.event_time_timers and not self._ends_key:
            self._timer_trace.record(_REGISTER, _EVENT_TIME, timer, self.current_watermark)
        super().register_event_time_timer(namespace, timestamp)

    def delete_event_time_timer(self, namespace: N, timestamp: int) -> None:
        timer = self._timer(namespace, timestamp)
        if timer in self.event_time_timers:
            self._timer_trace.record(_DELETE, _EVENT_TIME, timer, self.current_watermark)
        super().delete_event_time_timer(namespace, timestamp)

    def register_processing_time_timer(self, namespace: N, timestamp: int) -> None:
        timer = self._timer(namespace, timestamp)
        if timer not in self.processing_time_timers and not self._ends_key:
            self._timer_trace.record(_REGISTER, _PROCESSING_TIME, timer, self.current_watermark)
        super().register_processing_time_timer(namespace, timestamp)

    def delete_processing_time_timer(self, namespace: N, timestamp: int) -> None:
        timer = self._timer(namespace, timestamp)
        if timer in self.processing_time_timers:
            self._timer_trace.record(_DELETE, _PROCESSING_TIME, timer, self.current_watermark)
        super().delete_processing_time_timer(namespace, timestamp)
