"""Fires again and again by the clock. Flink: ContinuousProcessingTimeTrigger (rule 10.22)."""

from __future__ import annotations

from flowsim.operators.stream_operator import Value
from flowsim.operators.windowing.triggers.continuous_trigger import FIRE_TIME, ContinuousTrigger, noted
from flowsim.operators.windowing.triggers.trigger import OnMergeContext, TriggerContext, TriggerResult
from flowsim.operators.windowing.window import Window


class ContinuousProcessingTimeTrigger(ContinuousTrigger):
    """Fires whenever the clock passes a multiple of the interval. Flink: ContinuousProcessingTimeTrigger.

    It does not register the window's end by itself: the last interval is cut short there.
    """

    __slots__ = ()

    def on_element(self, element: Value, timestamp: int | None, window: Window, ctx: TriggerContext) -> TriggerResult:
        fire_time = ctx.get_partitioned_state(FIRE_TIME)
        now_ms = ctx.get_current_processing_time()
        if noted(fire_time) is None:
            ctx.register_processing_time_timer(self.next_fire_time(self.first_base(now_ms), window, fire_time))
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        if time == window.max_timestamp():
            return TriggerResult.FIRE
        fire_time = ctx.get_partitioned_state(FIRE_TIME)
        if noted(fire_time) != time:
            return TriggerResult.CONTINUE
        fire_time.clear()
        ctx.register_processing_time_timer(self.next_fire_time(time, window, fire_time))
        return TriggerResult.FIRE

    def on_merge(self, window: Window, ctx: OnMergeContext) -> None:
        ctx.merge_partitioned_state(FIRE_TIME)
        next_ms = noted(ctx.get_partitioned_state(FIRE_TIME))
        if next_ms is not None:
            ctx.register_processing_time_timer(next_ms)

    def clear(self, window: Window, ctx: TriggerContext) -> None:
        fire_time = ctx.get_partitioned_state(FIRE_TIME)
        next_ms = noted(fire_time)
        if next_ms is not None:
            ctx.delete_processing_time_timer(next_ms)
            fire_time.clear()
