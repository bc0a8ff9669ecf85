"""When the contents of a window are handed on. Flink: Trigger, TriggerResult (rules 10.17-10.20)."""

from __future__ import annotations

from enum import Enum
from typing import Protocol

from flowsim.facts.kinds import WindowResult
from flowsim.operators.stream_operator import Value
from flowsim.operators.windowing.time_window import TimeWindow


class TriggerResult(Enum):
    """What to do with a window; the value is (fire, purge). Flink: TriggerResult."""

    CONTINUE = (False, False)
    FIRE = (True, False)
    PURGE = (False, True)
    FIRE_AND_PURGE = (True, True)

    @property
    def is_fire(self) -> bool:
        return self.value[0]

    @property
    def is_purge(self) -> bool:
        return self.value[1]

    @property
    def recorded(self) -> WindowResult:
        """What a recording calls it; raises KeyError for CONTINUE, which is not recorded."""
        return _RECORDED[self.value]


_RECORDED = {
    (True, False): WindowResult.FIRE,
    (False, True): WindowResult.PURGE,
    (True, True): WindowResult.FIRE_AND_PURGE,
}


class TriggerContext(Protocol):
    """What a trigger may ask and do for the current key and window; times in ms. Flink: Trigger.TriggerContext."""

    def current_watermark(self) -> int: ...

    def current_processing_time(self) -> int: ...

    def register_event_time_timer(self, timestamp: int) -> None: ...

    def register_processing_time_timer(self, timestamp: int) -> None: ...

    def delete_event_time_timer(self, timestamp: int) -> None: ...

    def delete_processing_time_timer(self, timestamp: int) -> None: ...

    def increment_count(self) -> int:
        """Counts up the trigger's counter of this key and window, and answers it."""

    def clear_count(self) -> None:
        """Sets that counter back to 0."""


class Trigger(Protocol):
    """Decides for each record and timer of one key and window. Flink: Trigger."""

    def on_element(
        self, element: Value, timestamp: int | None, window: TimeWindow, ctx: TriggerContext
    ) -> TriggerResult: ...

    def on_event_time(self, timestamp: int, window: TimeWindow, ctx: TriggerContext) -> TriggerResult: ...

    def on_processing_time(self, timestamp: int, window: TimeWindow, ctx: TriggerContext) -> TriggerResult: ...

    def clear(self, window: TimeWindow, ctx: TriggerContext) -> None:
        """Forgets what it keeps for the window; called when the window is cleaned up."""


class EventTimeTrigger:
    """Fires when the watermark passes the end of the window, and again for each late row it allows. Flink: EventTimeTrigger."""

    __slots__ = ()

    def on_element(
        self, element: Value, timestamp: int | None, window: TimeWindow, ctx: TriggerContext
    ) -> TriggerResult:
        max_timestamp = window.end - 1
        if max_timestamp <= ctx.current_watermark():
            return TriggerResult.FIRE
        ctx.register_event_time_timer(max_timestamp)
        return TriggerResult.CONTINUE

    def on_event_time(self, timestamp: int, window: TimeWindow, ctx: TriggerContext) -> TriggerResult:
        return TriggerResult.FIRE if timestamp == window.end - 1 else TriggerResult.CONTINUE

    def on_processing_time(self, timestamp: int, window: TimeWindow, ctx: TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def clear(self, window: TimeWindow, ctx: TriggerContext) -> None:
        ctx.delete_event_time_timer(window.end - 1)


class CountTrigger:
    """Fires at every ``max_count`` records of a key and window; contents accumulate (rule 10.19). Flink: CountTrigger."""

    __slots__ = ("max_count",)

    def __init__(self, max_count: int) -> None:
        self.max_count = max_count

    def on_element(
        self, element: Value, timestamp: int | None, window: TimeWindow, ctx: TriggerContext
    ) -> TriggerResult:
        if ctx.increment_count() < self.max_count:
            return TriggerResult.CONTINUE
        ctx.clear_count()
        return TriggerResult.FIRE

    def on_event_time(self, timestamp: int, window: TimeWindow, ctx: TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_processing_time(self, timestamp: int, window: TimeWindow, ctx: TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def clear(self, window: TimeWindow, ctx: TriggerContext) -> None:
        ctx.clear_count()


class PurgingTrigger:
    """Turns every FIRE of another trigger into FIRE_AND_PURGE (rule 10.20). Flink: PurgingTrigger."""

    __slots__ = ("nested_trigger",)

    def __init__(self, nested_trigger: Trigger) -> None:
        self.nested_trigger = nested_trigger

    def on_element(
        self, element: Value, timestamp: int | None, window: TimeWindow, ctx: TriggerContext
    ) -> TriggerResult:
        return _purging(self.nested_trigger.on_element(element, timestamp, window, ctx))

    def on_event_time(self, timestamp: int, window: TimeWindow, ctx: TriggerContext) -> TriggerResult:
        return _purging(self.nested_trigger.on_event_time(timestamp, window, ctx))

    def on_processing_time(self, timestamp: int, window: TimeWindow, ctx: TriggerContext) -> TriggerResult:
        return _purging(self.nested_trigger.on_processing_time(timestamp, window, ctx))

    def clear(self, window: TimeWindow, ctx: TriggerContext) -> None:
        self.nested_trigger.clear(window, ctx)


def _purging(result: TriggerResult) -> TriggerResult:
    return TriggerResult.FIRE_AND_PURGE if result.is_fire else result
