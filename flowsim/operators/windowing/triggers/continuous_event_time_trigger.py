"""Fires again and again until a window ends. Flink: ContinuousEventTimeTrigger (rule 10.21)."""

from __future__ import annotations

from flowsim.operators.stream_operator import Value
from flowsim.operators.windowing.triggers.continuous_trigger import FIRE_TIME, ContinuousTrigger, noted
from flowsim.operators.windowing.triggers.trigger import CONTINUE, FIRE, OnMergeContext, TriggerContext, TriggerResult
from flowsim.operators.windowing.window import Window
from flowsim.units import NO_TIMESTAMP


class ContinuousEventTimeTrigger(ContinuousTrigger):
    """Fires whenever the watermark passes a multiple of the interval, and at the window's end.

    Flink: ContinuousEventTimeTrigger.
    """

    __slots__ = ()

    def on_element(self, element: Value, timestamp: int | None, window: Window, ctx: TriggerContext) -> TriggerResult:
        max_timestamp = window.max_timestamp()
        if max_timestamp <= ctx.get_current_watermark():
            return FIRE
        ctx.register_event_time_timer(max_timestamp)
        fire_time = ctx.get_partitioned_state(FIRE_TIME)
        if noted(fire_time) is None:
            base_ms = self.first_base(NO_TIMESTAMP if timestamp is None else timestamp)
            ctx.register_event_time_timer(self.next_fire_time(base_ms, window, fire_time))
        return CONTINUE

    def on_event_time(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        if time == window.max_timestamp():
            return FIRE
        fire_time = ctx.get_partitioned_state(FIRE_TIME)
        if noted(fire_time) != time:
            return CONTINUE
        fire_time.clear()
        ctx.register_event_time_timer(self.next_fire_time(time, window, fire_time))
        return FIRE

    def on_processing_time(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        return CONTINUE

    def on_merge(self, window: Window, ctx: OnMergeContext) -> None:
        ctx.merge_partitioned_state(FIRE_TIME)
        next_ms = noted(ctx.get_partitioned_state(FIRE_TIME))
        if next_ms is not None:
            ctx.register_event_time_timer(next_ms)

    def clear(self, window: Window, ctx: TriggerContext) -> None:
        # The timer of the window's end stays, as in Flink: when it is due, the window is cleaned up anyway.
        fire_time = ctx.get_partitioned_state(FIRE_TIME)
        next_ms = noted(fire_time)
        if next_ms is not None:
            ctx.delete_event_time_timer(next_ms)
            fire_time.clear()
