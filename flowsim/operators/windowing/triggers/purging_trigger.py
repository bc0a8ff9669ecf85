"""Purges a window whenever another trigger fires it. Flink: PurgingTrigger (rule 10.20)."""

from __future__ import annotations

from flowsim.operators.stream_operator import Value
from flowsim.operators.windowing.triggers.trigger import (
    FIRE_AND_PURGE,
    OnMergeContext,
    Trigger,
    TriggerContext,
    TriggerResult,
)
from flowsim.operators.windowing.window import Window


class PurgingTrigger(Trigger):
    """Turns every FIRE of another trigger into FIRE_AND_PURGE. Flink: PurgingTrigger."""

    __slots__ = ("nested_trigger",)

    def __init__(self, nested_trigger: Trigger) -> None:
        self.nested_trigger = nested_trigger

    def on_element(self, element: Value, timestamp: int | None, window: Window, ctx: TriggerContext) -> TriggerResult:
        return _purging(self.nested_trigger.on_element(element, timestamp, window, ctx))

    def on_event_time(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        return _purging(self.nested_trigger.on_event_time(time, window, ctx))

    def on_processing_time(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        return _purging(self.nested_trigger.on_processing_time(time, window, ctx))

    def can_merge(self) -> bool:
        return self.nested_trigger.can_merge()

    def on_merge(self, window: Window, ctx: OnMergeContext) -> None:
        self.nested_trigger.on_merge(window, ctx)

    def clear(self, window: Window, ctx: TriggerContext) -> None:
        self.nested_trigger.clear(window, ctx)


def _purging(result: TriggerResult) -> TriggerResult:
    return FIRE_AND_PURGE if result.is_fire() else result
