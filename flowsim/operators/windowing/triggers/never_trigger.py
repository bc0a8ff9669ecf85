"""Never fires. Flink: GlobalWindows.NeverTrigger (rule 10.6)."""

from __future__ import annotations

from flowsim.operators.stream_operator import Value
from flowsim.operators.windowing.triggers.trigger import (
    CONTINUE,
    OnMergeContext,
    Trigger,
    TriggerContext,
    TriggerResult,
)
from flowsim.operators.windowing.window import Window


class NeverTrigger(Trigger):
    """Leaves everything to another trigger, which must be given in its place. Flink: GlobalWindows.NeverTrigger."""

    __slots__ = ()

    def on_element(self, element: Value, timestamp: int | None, window: Window, ctx: TriggerContext) -> TriggerResult:
        return CONTINUE

    def on_event_time(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        return CONTINUE

    def on_processing_time(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        return CONTINUE

    def on_merge(self, window: Window, ctx: OnMergeContext) -> None:
        """Nothing is kept that could be merged."""

    def clear(self, window: Window, ctx: TriggerContext) -> None:
        """Nothing is kept."""
