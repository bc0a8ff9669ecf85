"""Triggers around another trigger. Flink: PurgingTrigger, ProcessingTimeoutTrigger (rules 10.20, 10.23)."""

from __future__ import annotations

from typing import Final

from flowsim.operators.windowing.described import described
from flowsim.operators.windowing.triggers.trigger import (
    FIRE,
    FIRE_AND_PURGE,
    AnyTrigger,
    OnMergeContext,
    Trigger,
    TriggerContext,
    TriggerResult,
)
from flowsim.operators.windowing.windows import Window
from flowsim.state.descriptors import ValueStateDescriptor
from flowsim.values.durations import Length, millis_of
from flowsim.values.java_long import wrapped
from flowsim.values.types import Types

_TIMEOUT: Final = ValueStateDescriptor("timeout", Types.LONG())


@described("purging", of="nested_trigger")
class PurgingTrigger(Trigger[object, Window]):
    """Turns every FIRE of another trigger into FIRE_AND_PURGE. PyFlink: PurgingTrigger (rule 10.20)."""

    __slots__ = ("nested_trigger",)

    def __init__(self, nested_trigger: AnyTrigger) -> None:
        self.nested_trigger: AnyTrigger = nested_trigger

    @staticmethod
    def of(nested_trigger: AnyTrigger) -> PurgingTrigger:
        """Creates the trigger. Raises TypeError unless the argument is a trigger."""
        if isinstance(nested_trigger, type) or not callable(getattr(nested_trigger, "on_element", None)):
            raise TypeError(f"PurgingTrigger.of: expected a trigger, got {nested_trigger!r}")
        return PurgingTrigger(nested_trigger)

    def on_element(self, element: object, timestamp: int | None, window: Window, ctx: TriggerContext) -> TriggerResult:
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


@described(
    "timeout",
    of="nested_trigger",
    interval_ms="interval_ms",
    reset_on_element="reset_on_element",
    clear_on_timeout="clear_on_timeout",
)
class ProcessingTimeoutTrigger(Trigger[object, Window]):
    """Another trigger, plus a FIRE ``interval_ms`` of processing time after a record that did not fire it.

    The timeout counts from the first such record, or from the last one if ``reset_on_element``. *Any* timer of the
    window fires it, including the other trigger's timers and event-time timers; ``clear_on_timeout`` then clears all of
    them. It does not support merging windows. Flink: ProcessingTimeoutTrigger (rule 10.23); PyFlink has none.
    """

    __slots__ = ("nested_trigger", "interval_ms", "reset_on_element", "clear_on_timeout")

    def __init__(
        self,
        nested_trigger: AnyTrigger,
        interval_ms: int,
        reset_on_element: bool = False,
        clear_on_timeout: bool = True,
    ) -> None:
        self.nested_trigger: AnyTrigger = nested_trigger
        self.interval_ms: int = interval_ms
        self.reset_on_element: bool = reset_on_element
        self.clear_on_timeout: bool = clear_on_timeout

    @staticmethod
    def of(
        nested_trigger: AnyTrigger,
        timeout: Length,
        reset_timer_on_new_record: bool = False,
        should_clear_on_timeout: bool = True,
    ) -> ProcessingTimeoutTrigger:
        timeout_ms = millis_of(timeout, "ProcessingTimeoutTrigger.of: timeout")
        return ProcessingTimeoutTrigger(nested_trigger, timeout_ms, reset_timer_on_new_record, should_clear_on_timeout)

    def on_element(self, element: object, timestamp: int | None, window: Window, ctx: TriggerContext) -> TriggerResult:
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


def _purging(result: TriggerResult) -> TriggerResult:
    return FIRE_AND_PURGE if result.is_fire() else result
