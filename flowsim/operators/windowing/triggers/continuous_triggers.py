"""Triggers that fire at every interval. Flink: ContinuousEventTimeTrigger, ContinuousProcessingTimeTrigger.

Rules 10.21 and 10.22.
"""

from __future__ import annotations

from typing import Final

from flowsim.errors import BadInput
from flowsim.operators.windowing.described import described
from flowsim.operators.windowing.triggers.trigger import (
    CONTINUE,
    FIRE,
    OnMergeContext,
    Trigger,
    TriggerContext,
    TriggerResult,
)
from flowsim.operators.windowing.windows import Window
from flowsim.state.descriptors import ReducingStateDescriptor
from flowsim.state.states import ReducingState
from flowsim.units import NO_TIMESTAMP
from flowsim.values.durations import Length, millis_of
from flowsim.values.java_long import remainder, wrapped
from flowsim.values.types import Types


def _min(one: object, other: object) -> object:
    assert isinstance(one, int)
    assert isinstance(other, int)
    return min(one, other)


_FIRE_TIME: Final = ReducingStateDescriptor("fire-time", _min, Types.LONG())
"""The state with the next fire time of a key and window, in ms; merged windows keep the earliest time."""


class ContinuousTrigger(Trigger[object, Window]):
    """Base of both continuous triggers; raises BadInput unless the interval is at least 1 ms."""

    __slots__ = ("interval_ms",)

    def __init__(self, interval: int) -> None:
        """Takes the interval in ms; ``of`` takes a duration."""
        if interval < 1:
            raise BadInput(f"continuous trigger: expected an interval of at least 1 ms, got {interval} ms")
        self.interval_ms: int = interval

    def can_merge(self) -> bool:
        return True

    def first_base(self, time_ms: int) -> int:
        """Returns the last multiple of the interval, rounded towards 0 as Java's remainder requires."""
        return time_ms - remainder(time_ms, self.interval_ms)

    def next_fire_time(self, base_ms: int, window: Window, fire_time: ReducingState) -> int:
        """Stores and returns ``base_ms`` plus the interval, or the end of the window if that is earlier."""
        next_ms: int = min(wrapped(base_ms + self.interval_ms), window.max_timestamp())
        fire_time.add(next_ms)
        return next_ms


@described("continuous_event_time", interval_ms="interval_ms")
class ContinuousEventTimeTrigger(ContinuousTrigger):
    """Fires whenever the watermark passes a multiple of the interval, and at the window's end.

    PyFlink: ContinuousEventTimeTrigger (rule 10.21).
    """

    __slots__ = ()

    @staticmethod
    def of(interval: Length) -> ContinuousEventTimeTrigger:
        """Creates a trigger; raises BadInput unless the interval is at least 1 ms."""
        return ContinuousEventTimeTrigger(millis_of(interval, "ContinuousEventTimeTrigger.of"))

    def on_element(self, element: object, timestamp: int | None, window: Window, ctx: TriggerContext) -> TriggerResult:
        max_timestamp = window.max_timestamp()
        if max_timestamp <= ctx.get_current_watermark():
            return FIRE
        ctx.register_event_time_timer(max_timestamp)
        fire_time = ctx.get_partitioned_state(_FIRE_TIME)
        if _stored_time(fire_time) is None:
            base_ms = self.first_base(NO_TIMESTAMP if timestamp is None else timestamp)
            ctx.register_event_time_timer(self.next_fire_time(base_ms, window, fire_time))
        return CONTINUE

    def on_event_time(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        if time == window.max_timestamp():
            return FIRE
        fire_time = ctx.get_partitioned_state(_FIRE_TIME)
        if _stored_time(fire_time) != time:
            return CONTINUE
        fire_time.clear()
        ctx.register_event_time_timer(self.next_fire_time(time, window, fire_time))
        return FIRE

    def on_processing_time(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        return CONTINUE

    def on_merge(self, window: Window, ctx: OnMergeContext) -> None:
        ctx.merge_partitioned_state(_FIRE_TIME)
        next_ms = _stored_time(ctx.get_partitioned_state(_FIRE_TIME))
        if next_ms is not None:
            ctx.register_event_time_timer(next_ms)

    def clear(self, window: Window, ctx: TriggerContext) -> None:
        # The timer of the window's end is not deleted, as in Flink: when it fires, the window is cleaned up anyway.
        fire_time = ctx.get_partitioned_state(_FIRE_TIME)
        next_ms = _stored_time(fire_time)
        if next_ms is not None:
            ctx.delete_event_time_timer(next_ms)
            fire_time.clear()


@described("continuous_processing_time", interval_ms="interval_ms")
class ContinuousProcessingTimeTrigger(ContinuousTrigger):
    """Fires whenever the clock passes a multiple of the interval.

    PyFlink: ContinuousProcessingTimeTrigger (rule 10.22). The trigger registers no separate timer for the window's end:
    the last interval ends there. If another trigger's timer calls the trigger and no fire time is stored, the trigger
    raises BadInput; Flink fails in this case too.
    """

    __slots__ = ()

    @staticmethod
    def of(interval: Length) -> ContinuousProcessingTimeTrigger:
        """Creates a trigger; raises BadInput unless the interval is at least 1 ms."""
        return ContinuousProcessingTimeTrigger(millis_of(interval, "ContinuousProcessingTimeTrigger.of"))

    def on_element(self, element: object, timestamp: int | None, window: Window, ctx: TriggerContext) -> TriggerResult:
        fire_time = ctx.get_partitioned_state(_FIRE_TIME)
        now_ms = ctx.get_current_processing_time()
        if _stored_time(fire_time) is None:
            ctx.register_processing_time_timer(self.next_fire_time(self.first_base(now_ms), window, fire_time))
        return CONTINUE

    def on_event_time(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        return CONTINUE

    def on_processing_time(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        if time == window.max_timestamp():
            return FIRE
        fire_time = ctx.get_partitioned_state(_FIRE_TIME)
        at = _stored_time(fire_time)
        if at is None:
            # Flink dereferences null here; only a nested trigger whose outer trigger has its own timers gets here.
            raise BadInput(
                f"ContinuousProcessingTimeTrigger: the trigger did not register the timer at {time} ms and "
                "has no timer of its own: Flink fails with a NullPointerException; nest it only in triggers "
                "that clear it together with their own timers"
            )
        if at != time:
            return CONTINUE
        fire_time.clear()
        ctx.register_processing_time_timer(self.next_fire_time(time, window, fire_time))
        return FIRE

    def on_merge(self, window: Window, ctx: OnMergeContext) -> None:
        ctx.merge_partitioned_state(_FIRE_TIME)
        next_ms = _stored_time(ctx.get_partitioned_state(_FIRE_TIME))
        if next_ms is not None:
            ctx.register_processing_time_timer(next_ms)

    def clear(self, window: Window, ctx: TriggerContext) -> None:
        fire_time = ctx.get_partitioned_state(_FIRE_TIME)
        next_ms = _stored_time(fire_time)
        if next_ms is not None:
            ctx.delete_processing_time_timer(next_ms)
            fire_time.clear()


def _stored_time(fire_time: ReducingState) -> int | None:
    """Returns the stored fire time in ms, or None."""
    at = fire_time.get()
    assert at is None or isinstance(at, int)
    return at
