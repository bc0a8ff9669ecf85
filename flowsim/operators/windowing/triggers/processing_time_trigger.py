"""Fires at the end of a window, by the clock. Flink: ProcessingTimeTrigger (rule 10.18)."""

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


class ProcessingTimeTrigger(Trigger):
    """Fires when processing time passes the end of the window. Flink: ProcessingTimeTrigger."""

    __slots__ = ()

    def on_element(self, element: Value, timestamp: int | None, window: Window, ctx: TriggerContext) -> TriggerResult:
        ctx.register_processing_time_timer(window.max_timestamp())
        return CONTINUE

    def on_event_time(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        return CONTINUE

    def on_processing_time(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        return FIRE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: Window, ctx: OnMergeContext) -> None:
        # A timer in the past would fire at once: the record that caused the merge registers it where it is wanted.
        max_timestamp = window.max_timestamp()
        if max_timestamp > ctx.get_current_processing_time():
            ctx.register_processing_time_timer(max_timestamp)

    def clear(self, window: Window, ctx: TriggerContext) -> None:
        ctx.delete_processing_time_timer(window.max_timestamp())
