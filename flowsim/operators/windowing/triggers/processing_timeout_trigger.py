"""Fires a window that another trigger leaves waiting. Flink: ProcessingTimeoutTrigger (rule 10.23)."""

from __future__ import annotations

from typing import Final

from flowsim.operators.stream_operator import Value
from flowsim.operators.windowing.triggers.trigger import FIRE, FIRE_AND_PURGE, Trigger, TriggerContext, TriggerResult
from flowsim.operators.windowing.window import Window
from flowsim.state.descriptors import ValueStateDescriptor
from flowsim.values import Types
from flowsim.values.java_long import wrapped

_TIMEOUT: Final = ValueStateDescriptor("timeout", Types.LONG())


class ProcessingTimeoutTrigger(Trigger):
    """Another trigger, and a FIRE ``interval_ms`` of processing time after a record that it left waiting.

    The timeout counts from the first such record, or from the last one if ``reset_on_element``. *Any* timer of the
    window fires it, also those of the other trigger, event-time ones too; all is cleared then if ``clear_on_timeout``. It
    serves no windows that merge. Flink: ProcessingTimeoutTrigger.
    """

    __slots__ = ("nested_trigger", "interval_ms", "reset_on_element", "clear_on_timeout")

    def __init__(
        self, nested_trigger: Trigger, interval_ms: int, reset_on_element: bool = False, clear_on_timeout: bool = True
    ) -> None:
        self.nested_trigger = nested_trigger
        self.interval_ms = interval_ms
        self.reset_on_element = reset_on_element
        self.clear_on_timeout = clear_on_timeout

    def on_element(self, element: Value, timestamp: int | None, window: Window, ctx: TriggerContext) -> TriggerResult:
        result = self.nested_trigger.on_element(element, timestamp, window, ctx)
        if result.is_fire():
            self.clear(window, ctx)
            return result
        timeout = ctx.get_partitioned_state(_TIMEOUT)
        next_ms = wrapped(ctx.get_current_processing_time() + self.interval_ms)
        running = timeout.value()
        if isinstance(running, int) and self.reset_on_element:
            ctx.delete_processing_time_timer(running)
            timeout.clear()
            running = None
        if running is None:
            timeout.update(next_ms)
            ctx.register_processing_time_timer(next_ms)
        return result

    def on_event_time(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        return self._fired(self.nested_trigger.on_event_time(time, window, ctx), window, ctx)

    def on_processing_time(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        return self._fired(self.nested_trigger.on_processing_time(time, window, ctx), window, ctx)

    def clear(self, window: Window, ctx: TriggerContext) -> None:
        timeout = ctx.get_partitioned_state(_TIMEOUT)
        running = timeout.value()
        if isinstance(running, int):
            ctx.delete_processing_time_timer(running)
            timeout.clear()
        self.nested_trigger.clear(window, ctx)

    def _fired(self, result: TriggerResult, window: Window, ctx: TriggerContext) -> TriggerResult:
        if self.clear_on_timeout:
            self.clear(window, ctx)
        return FIRE_AND_PURGE if result.is_purge() else FIRE
