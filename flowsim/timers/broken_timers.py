"""Faults of timers, each at the point of the real mechanism, so that laws can be seen to fire."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Final, Generic, TypeVar

from flowsim.timers.heap_priority_queue import HeapPriorityQueueSet
from flowsim.timers.internal_timer import InternalTimer
from flowsim.timers.internal_timer_service import InternalTimerService, KeyContext
from flowsim.timers.key_groups import KeyGroups
from flowsim.units import MAX_WATERMARK

N = TypeVar("N", bound=Hashable)

TIMER_FIRES_TWICE: Final = "timer_fires_twice"
"""The queues of a subtask keep the first timer that they give out."""

TIMER_FIRES_EARLY: Final = "timer_fires_early"
"""The first watermark of a subtask that leaves timers behind fires one of them too."""

TIMER_LOST: Final = "timer_lost"
"""The queues of a subtask forget the first timer that they are given."""

TIMER_UNDER_WRONG_KEY: Final = "timer_under_wrong_key"
"""The first timer of a subtask whose key is not the current one fires under the current one."""


class QueueThatKeepsOne(HeapPriorityQueueSet[N]):
    """The first timer taken out is still in it."""

    __slots__ = ("_kept",)

    def poll(self, until: int = MAX_WATERMARK) -> InternalTimer[N] | None:
        timer = super().poll(until)
        if timer is not None and not hasattr(self, "_kept"):
            self._kept = InternalTimer(timer.timestamp, timer.key, timer.key_id, timer.namespace)
            self.add(self._kept)
        return timer


class QueueThatForgetsOne(HeapPriorityQueueSet[N]):
    """The first timer put into it is not in it."""

    __slots__ = ("_forgotten",)

    def add(self, timer: InternalTimer[N]) -> bool:
        if not hasattr(self, "_forgotten"):
            self._forgotten = timer
            return False
        return super().add(timer)


class KeyContextThatStays:
    """Once it does not change its key when it should."""

    __slots__ = ("_context", "_stayed")

    def __init__(self, context: KeyContext) -> None:
        self._context = context
        self._stayed = False

    @property
    def current_key(self) -> object:
        return self._context.current_key

    @property
    def current_key_id(self) -> object:
        return self._context.current_key_id

    def set_current_key(self, key: object, key_id: object) -> None:
        if not self._stayed and self._context.current_key_id not in (None, key_id):
            self._stayed = True
        else:
            self._context.set_current_key(key, key_id)


class HastyTimers(Generic[N]):
    """Advances a service and fires one timer more than is due."""

    __slots__ = ("_service", "_was_hasty")

    def __init__(self, service: InternalTimerService[N]) -> None:
        self._service = service
        self._was_hasty = False

    def try_advance_watermark(self, timestamp: int, should_stop: Callable[[], bool] | None) -> bool:
        done = self._service.try_advance_watermark(timestamp, should_stop)
        if done and not self._was_hasty:
            self._was_hasty = self._service.fire_next_event_time_timer()
        return done


def queue_factory(faults: frozenset[str]) -> Callable[[KeyGroups], HeapPriorityQueueSet[N]]:
    """What makes the queues of a service."""
    if TIMER_FIRES_TWICE in faults:
        return QueueThatKeepsOne
    return QueueThatForgetsOne if TIMER_LOST in faults else HeapPriorityQueueSet
