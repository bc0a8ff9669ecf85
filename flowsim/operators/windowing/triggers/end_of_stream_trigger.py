"""Fires when there is nothing to come. Flink: GlobalWindows.EndOfStreamTrigger (rule 10.6)."""

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


class EndOfStreamTrigger(Trigger):
    """Fires the global window at the last watermark. Flink: GlobalWindows.EndOfStreamTrigger."""

    __slots__ = ()

    def on_element(self, element: Value, timestamp: int | None, window: Window, ctx: TriggerContext) -> TriggerResult:
        ctx.register_event_time_timer(window.max_timestamp())
        return CONTINUE

    def on_event_time(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        return FIRE if time == window.max_timestamp() else CONTINUE

    def on_processing_time(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        return CONTINUE

    def on_merge(self, window: Window, ctx: OnMergeContext) -> None:
        """Nothing is kept that could be merged."""

    def clear(self, window: Window, ctx: TriggerContext) -> None:
        """Leaves the timer, as Flink does: it is due when all else is over."""
