"""Triggers that fire at the end of a window or never (rules 10.6, 10.17, 10.18). Flink: EventTimeTrigger, NeverTrigger."""

from __future__ import annotations

from flowsim.operators.windowing.described import described
from flowsim.operators.windowing.triggers.trigger import (
    CONTINUE,
    FIRE,
    OnMergeContext,
    Trigger,
    TriggerContext,
    TriggerResult,
)
from flowsim.operators.windowing.windows import Window


@described("event_time")
class EventTimeTrigger(Trigger[object, Window]):
    """Fires when the watermark passes the end of the window, and again for each late record that the lateness allows.

    PyFlink: EventTimeTrigger (rule 10.17).
    """

    __slots__ = ()

    @staticmethod
    def create() -> EventTimeTrigger:
        return EventTimeTrigger()

    def on_element(self, element: object, timestamp: int | None, window: Window, ctx: TriggerContext) -> TriggerResult:
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
        # Only a late record reaches a window whose end has passed, and that record fires it.
        max_timestamp = window.max_timestamp()
        if max_timestamp > ctx.get_current_watermark():
            ctx.register_event_time_timer(max_timestamp)

    def clear(self, window: Window, ctx: TriggerContext) -> None:
        ctx.delete_event_time_timer(window.max_timestamp())


@described("processing_time")
class ProcessingTimeTrigger(Trigger[object, Window]):
    """Fires when processing time passes the end of the window. PyFlink: ProcessingTimeTrigger (rule 10.18)."""

    __slots__ = ()

    @staticmethod
    def create() -> ProcessingTimeTrigger:
        return ProcessingTimeTrigger()

    def on_element(self, element: object, timestamp: int | None, window: Window, ctx: TriggerContext) -> TriggerResult:
        ctx.register_processing_time_timer(window.max_timestamp())
        return CONTINUE

    def on_event_time(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        return CONTINUE

    def on_processing_time(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        return FIRE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: Window, ctx: OnMergeContext) -> None:
        # A timer in the past would fire at once: the record that caused the merge registers it if needed.
        max_timestamp = window.max_timestamp()
        if max_timestamp > ctx.get_current_processing_time():
            ctx.register_processing_time_timer(max_timestamp)

    def clear(self, window: Window, ctx: TriggerContext) -> None:
        ctx.delete_processing_time_timer(window.max_timestamp())


@described("end_of_stream")
class EndOfStreamTrigger(Trigger[object, Window]):
    """Fires the global window at the last watermark. Flink: GlobalWindows.EndOfStreamTrigger (rule 10.6)."""

    __slots__ = ()

    def on_element(self, element: object, timestamp: int | None, window: Window, ctx: TriggerContext) -> TriggerResult:
        ctx.register_event_time_timer(window.max_timestamp())
        return CONTINUE

    def on_event_time(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        return FIRE if time == window.max_timestamp() else CONTINUE

    def on_processing_time(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        return CONTINUE

    def on_merge(self, window: Window, ctx: OnMergeContext) -> None:
        """Does nothing: there is no state to merge."""

    def clear(self, window: Window, ctx: TriggerContext) -> None:
        """Does not delete the timer, as in Flink: the timer fires at the end."""


@described("never")
class NeverTrigger(Trigger[object, Window]):
    """Never fires: the default trigger of a global window. PyFlink: NeverTrigger (rule 10.6)."""

    __slots__ = ()

    def on_element(self, element: object, timestamp: int | None, window: Window, ctx: TriggerContext) -> TriggerResult:
        return CONTINUE

    def on_event_time(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        return CONTINUE

    def on_processing_time(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        return CONTINUE

    def on_merge(self, window: Window, ctx: OnMergeContext) -> None:
        """Does nothing: there is no state to merge."""

    def clear(self, window: Window, ctx: TriggerContext) -> None:
        """Does nothing: there is no state."""
