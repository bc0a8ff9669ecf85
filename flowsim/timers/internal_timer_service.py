"""Event-time and processing-time timers per key and namespace. Flink: InternalTimerService (rules 9.1-9.16)."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Final, Generic, NamedTuple, Protocol, TypeVar

from mypy_extensions import mypyc_attr

from flowsim.errors import EndlessTimers
from flowsim.failure_location import note_timer
from flowsim.timers.heap_priority_queue import HeapPriorityQueueSet
from flowsim.timers.internal_timer import InternalTimer
from flowsim.timers.key_groups import KeyGroups
from flowsim.timers.processing_time_service import ProcessingTimeService, TimerHandle
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP
from flowsim.values.java_hash_map import capacity_for, in_order_of_bins

N = TypeVar("N", bound=Hashable)
_MOST_FIRINGS: Final = 200_000
"""After so many timers that were registered while timers fire, their time must have advanced."""


class KeyContext(Protocol):
    """The current key.

    A Protocol, because this package does not know operators, whose base class implements it. Flink: KeyContext.
    """

    @property
    def current_key(self) -> object: ...

    @property
    def current_key_id(self) -> object:
        """``values.state_key`` of the current key."""

    def set_current_key(self, key: object, key_id: object) -> None: ...


class Triggerable(Protocol):
    """Called when a timer fires.

    A Protocol, because this package does not know operators. Flink: Triggerable.
    """

    def on_event_time(self, timer: InternalTimer) -> None: ...

    def on_processing_time(self, timer: InternalTimer) -> None: ...


class CancellationContext:
    """Reports whether the task of an operator was cancelled. Flink: StreamTaskCancellationContext."""

    __slots__ = ("is_cancelled", "most_firings")

    def __init__(self) -> None:
        self.is_cancelled: bool = False
        self.most_firings: int = 2**62
        """Number of timers after which the run is ended, if timers register timers that fire at once."""


class Firings:
    """Counts the timers that fire in a row; does not count those that waited before the first one fired.

    A timer that registers itself again for the same time fires without end, as in Flink (rule 9.5).
    """

    __slots__ = ("_interval", "_left", "_most", "_new", "_reached")

    def __init__(self, waiting: int, most: int) -> None:
        self._most = most
        self._interval: int = min(most, _MOST_FIRINGS)
        self._left: int = 1 + waiting + self._interval
        self._new = 0
        self._reached: int = NO_TIMESTAMP - 1

    def count(self, timestamp: int) -> None:
        """Called before a timer fires; raises EndlessTimers."""
        if self._left > 0:
            self._left -= 1
            return
        self._new += self._interval
        if self._new >= self._most or timestamp <= self._reached:
            raise EndlessTimers(f"{self._new} timers that were registered while timers fired have fired in a row")
        self._left, self._reached = self._interval, timestamp


class TimersSnapshot(NamedTuple, Generic[N]):
    """The timers of one key group, in the order of Flink's sets. Flink: InternalTimersSnapshot (rule 9.15)."""

    event_time: tuple[tuple[int, object, object, N], ...]
    """(timestamp, key, key id, namespace)"""
    processing_time: tuple[tuple[int, object, object, N], ...]


@mypyc_attr(allow_interpreted_subclasses=True)
class InternalTimerService(Generic[N]):
    """The timers of one operator under one name. Flink: InternalTimerServiceImpl.

    Registering an equal timer again has no effect (rule 9.1). The key of a timer is the current key at registration.
    The service sets this key while the callback runs, and does not restore the previous key afterwards (rule 9.13).
    Times are in milliseconds.
    """

    __slots__ = (
        "name",
        "current_watermark",
        "fired_timers",
        "key_context",
        "_processing_time",
        "triggerable",
        "_key_groups",
        "_cancellation",
        "event_time_timers",
        "processing_time_timers",
        "_next_timer",
        "_ends_key",
    )

    def __init__(
        self,
        name: str,
        key_context: KeyContext,
        processing_time: ProcessingTimeService,
        triggerable: Triggerable,
        key_groups: KeyGroups | None = None,
        cancellation: CancellationContext | None = None,
        create_queue: Callable[[KeyGroups], HeapPriorityQueueSet] = HeapPriorityQueueSet,
    ) -> None:
        """``key_groups`` None: all keys are in one key group; ``cancellation`` None: the task is never cancelled."""
        self.name: str = name
        self.current_watermark: int = NO_TIMESTAMP
        self.fired_timers: int = 0
        """Number of fired timers. Flink: numFiredTimers (rule 9.14)."""
        self.key_context: KeyContext = key_context
        self._processing_time = processing_time
        self.triggerable: Triggerable = triggerable
        self._key_groups = key_groups if key_groups is not None else KeyGroups()
        self._cancellation = cancellation if cancellation is not None else CancellationContext()
        self.event_time_timers: HeapPriorityQueueSet = create_queue(self._key_groups)
        self.processing_time_timers: HeapPriorityQueueSet = create_queue(self._key_groups)
        self._next_timer: TimerHandle | None = None
        self._ends_key: bool = False

    def current_processing_time_ms(self) -> int:
        return self._processing_time.current_processing_time_ms()

    @property
    def num_event_time_timers(self) -> int:
        return len(self.event_time_timers)

    @property
    def num_processing_time_timers(self) -> int:
        return len(self.processing_time_timers)

    def register_event_time_timer(self, namespace: N, timestamp: int) -> None:
        """Registers a timer.

        At or before the current watermark, it fires at the next advance, not at once (rule 9.7).
        """
        if self._ends_key:
            return
        context = self.key_context
        self.event_time_timers.add(InternalTimer(timestamp, context.current_key, context.current_key_id, namespace))

    def delete_event_time_timer(self, namespace: N, timestamp: int) -> None:
        """Deletes a timer; does nothing if there is no such timer (rule 9.11)."""
        self.event_time_timers.remove(self._timer(namespace, timestamp))

    def register_processing_time_timer(self, namespace: N, timestamp: int) -> None:
        """Registers a timer; a new earliest timer replaces the pending system timer (rule 9.8)."""
        if self._ends_key:
            return
        head = self.processing_time_timers.peek()
        is_new_head = self.processing_time_timers.add(self._timer(namespace, timestamp))
        if is_new_head and timestamp < (head.timestamp if head is not None else MAX_WATERMARK):
            if self._next_timer is not None:
                self._next_timer.cancel()
            self._next_timer = self._processing_time.register_timer(timestamp, self._on_processing_time)

    def delete_processing_time_timer(self, namespace: N, timestamp: int) -> None:
        """Deletes a timer, but keeps the system timer, which then finds no due timer (rule 9.11)."""
        self.processing_time_timers.remove(self._timer(namespace, timestamp))

    def advance_watermark(self, timestamp: int) -> None:
        """Sets event time to ``timestamp`` ms and fires all timers up to it (rules 9.4-9.6).

        These include timers that are registered meanwhile.
        """
        self.try_advance_watermark(timestamp, None)

    def try_advance_watermark(self, timestamp: int, should_stop: Callable[[], bool] | None) -> bool:
        """Advances event time, but calls ``should_stop`` after each timer; returns False if it stopped (rule 9.18).

        At least one timer fires, to make progress. A cancelled task fires no more timers (rule 9.14).
        """
        self.current_watermark = timestamp
        poll, cancellation, set_current_key, on_event_time = (
            self.event_time_timers.poll,
            self._cancellation,
            self.key_context.set_current_key,
            self.triggerable.on_event_time,
        )
        firings: Firings | None = None
        while not cancellation.is_cancelled and (timer := poll(timestamp)) is not None:
            if firings is None:
                firings = Firings(len(self.event_time_timers), cancellation.most_firings)
            set_current_key(timer.key, timer.key_id)
            try:
                firings.count(timer.timestamp)
                on_event_time(timer)
            except BaseException as error:
                note_timer(error, timer.key, timer.timestamp)
                raise
            self.fired_timers += 1
            if should_stop is not None and should_stop():
                return False
        return True

    def _on_processing_time(self, timestamp: int) -> None:
        """Fires the timers that are due at the *registered* time, which may be earlier than now (rule 9.9)."""
        self._next_timer = None
        queue, cancellation = self.processing_time_timers, self._cancellation
        firings: Firings | None = None
        while not cancellation.is_cancelled and (timer := queue.poll(timestamp)) is not None:
            if firings is None:
                firings = Firings(len(queue), cancellation.most_firings)
            self.key_context.set_current_key(timer.key, timer.key_id)
            try:
                firings.count(timer.timestamp)
                self.triggerable.on_processing_time(timer)
            except BaseException as error:
                note_timer(error, timer.key, timer.timestamp)
                raise
            self.fired_timers += 1
        self.start()

    def end_key(self) -> None:
        """Fires all timers of the current key: event time, then processing time; timers registered meanwhile are ignored.

        Flink: BatchExecutionInternalTimeService.setCurrentKey.
        """
        self._ends_key = True
        self.try_advance_watermark(MAX_WATERMARK, None)
        self._on_processing_time(MAX_WATERMARK)
        self._ends_key = False
        self.current_watermark = NO_TIMESTAMP

    def start(self) -> None:
        """Registers the system timer for the earliest timer, if it is not registered yet (rules 9.9, 9.15)."""
        head = self.processing_time_timers.peek()
        if head is not None and self._next_timer is None:
            self._next_timer = self._processing_time.register_timer(head.timestamp, self._on_processing_time)

    def restore_timer(self, key: object, key_id: object, timestamp: int, namespace: N, *, is_event_time: bool) -> None:
        """Adds one stored timer; the heap backend adds them one by one, unlike ``restore_timers_for_key_group``."""
        queue = self.event_time_timers if is_event_time else self.processing_time_timers
        queue.add(InternalTimer(timestamp, key, key_id, namespace))

    def snapshot_timers_for_key_group(self, key_group: int) -> TimersSnapshot[N]:
        """Returns the timers of the keys in ``key_group`` (rule 9.15)."""
        return TimersSnapshot(
            _timers_of(self.event_time_timers, key_group), _timers_of(self.processing_time_timers, key_group)
        )

    def restore_timers_for_key_group(self, snapshot: TimersSnapshot[N]) -> None:
        """Adds the timers of one key group; ``start`` handles overdue ones (rule 9.15)."""
        for queue, timers in (
            (self.event_time_timers, snapshot.event_time),
            (self.processing_time_timers, snapshot.processing_time),
        ):
            for timer in self._as_read([InternalTimer(*parts) for parts in timers]):
                queue.add(timer)

    def _as_read(self, timers: list[InternalTimer]) -> list[InternalTimer]:
        """Returns the timers in the order of the hash set into which Flink reads a snapshot."""
        return in_order_of_bins(timers, self._key_groups.timer_hash, capacity_for(len(timers)))

    def _timer(self, namespace: N, timestamp: int) -> InternalTimer:
        context = self.key_context
        return InternalTimer(timestamp, context.current_key, context.current_key_id, namespace)

    def validate(self) -> None:
        """Raises InvariantViolation if a queue is out of order."""
        self.event_time_timers.validate()
        self.processing_time_timers.validate()


def _timers_of(queue: HeapPriorityQueueSet, key_group: int) -> tuple[tuple[int, object, object, N], ...]:
    return tuple([(t.timestamp, t.key, t.key_id, t.namespace) for t in queue.timers_of_key_group(key_group)])
