"""Event-time and processing-time timers per key and namespace. Flink: InternalTimerService (rules 9.1-9.16)."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from flowsim.timers.heap_priority_queue import HeapPriorityQueueSet
from flowsim.timers.internal_timer import InternalTimer
from flowsim.timers.processing_time_service import ProcessingTimeService, TimerHandle
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP

N = TypeVar("N", bound=Hashable)


class KeyContext(Protocol):
    """Whose key is the current one; the keyed operator implements it. Flink: KeyContext."""

    @property
    def current_key(self) -> object: ...

    @property
    def current_key_id(self) -> object:
        """``values.state_key`` of the current key."""

    def set_current_key(self, key: object, key_id: object) -> None: ...


class Triggerable(Protocol[N]):
    """Who is called when a timer is due. Flink: Triggerable."""

    def on_event_time(self, timer: InternalTimer[N]) -> None: ...

    def on_processing_time(self, timer: InternalTimer[N]) -> None: ...


@dataclass(frozen=True, slots=True)
class TimersSnapshot(Generic[N]):
    """The timers of one key group, in the order of registration. Flink: InternalTimersSnapshot (rule 9.15)."""

    event_time: tuple[tuple[int, object, object, N], ...]
    """(timestamp, key, key id, namespace)"""
    processing_time: tuple[tuple[int, object, object, N], ...]


class InternalTimerService(Generic[N]):
    """The timers of one operator under one name. Flink: InternalTimerServiceImpl.

    Registering an equal timer again is a no-op (rule 9.1). The key of a timer is the current key at registration, and is
    the current key again while its callback runs; it is not restored afterwards (rule 9.13). Times are milliseconds.
    """

    __slots__ = (
        "name", "current_watermark", "fired_timers", "_key_context", "_processing_time", "_triggerable", "_event_queue",
        "_processing_queue", "_next_timer",
    )  # fmt: skip

    def __init__(
        self, name: str, key_context: KeyContext, processing_time: ProcessingTimeService, triggerable: Triggerable[N],
        create_queue: Callable[[], HeapPriorityQueueSet[N]] = HeapPriorityQueueSet,
    ) -> None:  # fmt: skip
        self.name = name
        self.current_watermark = NO_TIMESTAMP
        self.fired_timers = 0
        self._key_context = key_context
        self._processing_time = processing_time
        self._triggerable = triggerable
        self._event_queue: HeapPriorityQueueSet[N] = create_queue()
        self._processing_queue: HeapPriorityQueueSet[N] = create_queue()
        self._next_timer: TimerHandle | None = None

    def current_processing_time_ms(self) -> int:
        return self._processing_time.current_processing_time_ms()

    @property
    def num_event_time_timers(self) -> int:
        return len(self._event_queue)

    @property
    def num_processing_time_timers(self) -> int:
        return len(self._processing_queue)

    def register_event_time_timer(self, namespace: N, timestamp: int) -> None:
        """A timer at or before the current watermark fires at the next advance, not at once (rule 9.7)."""
        context = self._key_context
        self._event_queue.add(InternalTimer(timestamp, context.current_key, context.current_key_id, namespace))

    def delete_event_time_timer(self, namespace: N, timestamp: int) -> None:
        """A no-op where there is no such timer (rule 9.11)."""
        self._event_queue.remove(self._timer(namespace, timestamp))

    def register_processing_time_timer(self, namespace: N, timestamp: int) -> None:
        """A new earliest timer replaces the pending system timer (rule 9.8)."""
        head = self._processing_queue.peek()
        is_new_head = self._processing_queue.add(self._timer(namespace, timestamp))
        if is_new_head and timestamp < (head.timestamp if head is not None else MAX_WATERMARK):
            if self._next_timer is not None:
                self._next_timer.cancel()
            self._next_timer = self._processing_time.register_timer(timestamp, self._on_processing_time)

    def delete_processing_time_timer(self, namespace: N, timestamp: int) -> None:
        """The system timer stays: it will find nothing due (rule 9.11)."""
        self._processing_queue.remove(self._timer(namespace, timestamp))

    def advance_watermark(self, timestamp: int) -> None:
        """Event time is now ``timestamp``: fires every timer up to it, those registered meanwhile too (rules 9.4-9.6)."""
        self.current_watermark = timestamp
        queue, set_current_key, on_event_time = (
            self._event_queue, self._key_context.set_current_key, self._triggerable.on_event_time,
        )  # fmt: skip
        while (timer := queue.peek()) is not None and timer.timestamp <= timestamp:
            queue.poll()
            set_current_key(timer.key, timer.key_id)
            on_event_time(timer)
            self.fired_timers += 1

    def fire_next_event_time_timer(self) -> bool:
        """Fires the earliest event-time timer whatever the time is; False where there is none. Only a fault asks for it."""
        timer = self._event_queue.poll()
        if timer is None:
            return False
        self._key_context.set_current_key(timer.key, timer.key_id)
        self._triggerable.on_event_time(timer)
        self.fired_timers += 1
        return True

    def _on_processing_time(self, timestamp: int) -> None:
        """Fires what is due at the *registered* time, which may be earlier than now (rule 9.9)."""
        self._next_timer = None
        queue = self._processing_queue
        while (timer := queue.peek()) is not None and timer.timestamp <= timestamp:
            queue.poll()
            self._key_context.set_current_key(timer.key, timer.key_id)
            self._triggerable.on_processing_time(timer)
            self.fired_timers += 1
        self.start()

    def start(self) -> None:
        """Arms the system timer for the earliest timer unless it is armed (rules 9.9, 9.15)."""
        head = self._processing_queue.peek()
        if head is not None and self._next_timer is None:
            self._next_timer = self._processing_time.register_timer(head.timestamp, self._on_processing_time)

    def snapshot_timers_for_key_group(self, key_group: int, key_group_of: Callable[[object], int]) -> TimersSnapshot[N]:
        """The timers whose keys belong to ``key_group``; ``key_group_of`` assigns keys to groups (rule 9.15)."""

        def of_group(queue: HeapPriorityQueueSet[N]) -> tuple[tuple[int, object, object, N], ...]:
            found = (t for t in queue.timers() if key_group_of(t.key) == key_group)
            return tuple((t.timestamp, t.key, t.key_id, t.namespace) for t in found)

        return TimersSnapshot(of_group(self._event_queue), of_group(self._processing_queue))

    def restore_timers(self, snapshot: TimersSnapshot[N]) -> None:
        """Adds the timers of one key group; ``start`` arms what is overdue (rule 9.15)."""
        for timestamp, key, key_id, namespace in snapshot.event_time:
            self._event_queue.add(InternalTimer(timestamp, key, key_id, namespace))
        for timestamp, key, key_id, namespace in snapshot.processing_time:
            self._processing_queue.add(InternalTimer(timestamp, key, key_id, namespace))

    def _timer(self, namespace: N, timestamp: int) -> InternalTimer[N]:
        context = self._key_context
        return InternalTimer(timestamp, context.current_key, context.current_key_id, namespace)

    def validate(self) -> None:
        """Raises InvariantViolation when a queue is out of order."""
        self._event_queue.validate()
        self._processing_queue.validate()
