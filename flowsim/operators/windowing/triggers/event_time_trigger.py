"""Fires at the end of a window. Flink: EventTimeTrigger (rule 10.17)."""

from __future__ import annotations

from flowsim.operators.stream_operator import Value
from flowsim.operators.windowing.triggers.trigger import (
    CONTINUE,
    FIRE,
    OnMergeContext,
    Trigger,
    TriggerContext,
    TriggerResult,
)
from flowsim.operators.windowing.window import Window


class EventTimeTrigger(Trigger):
    """Fires when the watermark passes the end of the window, and again for each late row it allows. Flink: EventTimeTrigger."""

    __slots__ = ()

    def on_element(self, element: Value, timestamp: int | None, window: Window, ctx: TriggerContext) -> TriggerResult:
        max_timestamp = window.max_timestamp()
        if max_timestamp <= ctx.get_current_watermark():
            return FIRE
        ctx.register_event_time_timer(max_timestamp)
        return CONTINUE

    def on_event_time(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        return FIRE if time == window.max_timestamp() else CONTINUE

    def on_processing_time(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        return CONTINUE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: Window, ctx: OnMergeContext) -> None:
        # A window whose end has passed is only reached by a late row, and that row fires it by itself.
        max_timestamp = window.max_timestamp()
        if max_timestamp > ctx.get_current_watermark():
            ctx.register_event_time_timer(max_timestamp)

    def clear(self, window: Window, ctx: TriggerContext) -> None:
        ctx.delete_event_time_timer(window.max_timestamp())
