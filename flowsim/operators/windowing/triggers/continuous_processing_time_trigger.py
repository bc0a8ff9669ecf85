"""Fires again and again by the clock. Flink: ContinuousProcessingTimeTrigger (rule 10.22)."""

from __future__ import annotations

from flowsim.errors import BadInput
from flowsim.operators.stream_operator import Value
from flowsim.operators.windowing.triggers.continuous_trigger import FIRE_TIME, ContinuousTrigger, noted
from flowsim.operators.windowing.triggers.trigger import CONTINUE, FIRE, OnMergeContext, TriggerContext, TriggerResult
from flowsim.operators.windowing.window import Window


class ContinuousProcessingTimeTrigger(ContinuousTrigger):
    """Fires whenever the clock passes a multiple of the interval. Flink: ContinuousProcessingTimeTrigger.

    It does not register the window's end by itself: the last interval is cut short there. Called for a timer of somebody
    else while it has noted no fire time of its own, it raises BadInput: Flink fails there too.
    """

    __slots__ = ()

    def on_element(self, element: Value, timestamp: int | None, window: Window, ctx: TriggerContext) -> TriggerResult:
        fire_time = ctx.get_partitioned_state(FIRE_TIME)
        now_ms = ctx.get_current_processing_time()
        if noted(fire_time) is None:
            ctx.register_processing_time_timer(self.next_fire_time(self.first_base(now_ms), window, fire_time))
        return CONTINUE

    def on_event_time(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        return CONTINUE

    def on_processing_time(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        if time == window.max_timestamp():
            return FIRE
        fire_time = ctx.get_partitioned_state(FIRE_TIME)
        at = noted(fire_time)
        if at is None:
            # Flink dereferences null here; it takes a trigger around this one, with timers of its own, to get so far.
            raise BadInput(
                f"ContinuousProcessingTimeTrigger: the timer at {time} ms is not its own, and it waits for none: Flink "
                "fails with a NullPointerException; nest it in triggers that clear it only with their own timers"
            )
        if at != time:
            return CONTINUE
        fire_time.clear()
        ctx.register_processing_time_timer(self.next_fire_time(time, window, fire_time))
        return FIRE

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
