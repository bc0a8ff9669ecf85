"""Window assigners and triggers as PyFlink spells them."""

from __future__ import annotations

from flowsim.datastream.common.time import Duration, Time, millis_of
from flowsim.operators.windowing import assigners, triggers
from flowsim.operators.windowing.assigners import WindowAssigner
from flowsim.operators.windowing.time_window import TimeWindow
from flowsim.operators.windowing.triggers import Trigger, TriggerResult

__all__ = [
    "CountTrigger",
    "EventTimeTrigger",
    "PurgingTrigger",
    "SlidingEventTimeWindows",
    "TimeWindow",
    "Trigger",
    "TriggerResult",
    "TumblingEventTimeWindows",
    "WindowAssigner",
]


class TumblingEventTimeWindows(assigners.TumblingEventTimeWindows):
    """Windows of one size, end to end (rule 10.2). PyFlink: TumblingEventTimeWindows."""

    __slots__ = ()

    @staticmethod
    def of(size: Duration | Time, offset: Duration | Time | None = None) -> TumblingEventTimeWindows:
        """Raises BadInput unless size >= 1 ms and |offset| < size."""
        offset_ms = 0 if offset is None else millis_of(offset, "TumblingEventTimeWindows.of: offset")
        return TumblingEventTimeWindows(millis_of(size, "TumblingEventTimeWindows.of: size"), offset_ms)


class SlidingEventTimeWindows(assigners.SlidingEventTimeWindows):
    """Windows of one size that begin every slide (rule 10.4). PyFlink: SlidingEventTimeWindows."""

    __slots__ = ()

    @staticmethod
    def of(
        size: Duration | Time, slide: Duration | Time, offset: Duration | Time | None = None
    ) -> SlidingEventTimeWindows:
        """Raises BadInput unless size >= 1 ms and |offset| < slide."""
        offset_ms = 0 if offset is None else millis_of(offset, "SlidingEventTimeWindows.of: offset")
        size_ms = millis_of(size, "SlidingEventTimeWindows.of: size")
        return SlidingEventTimeWindows(size_ms, millis_of(slide, "SlidingEventTimeWindows.of: slide"), offset_ms)


class EventTimeTrigger(triggers.EventTimeTrigger):
    """Fires when the watermark passes the end of the window (rule 10.17). PyFlink: EventTimeTrigger."""

    __slots__ = ()

    @staticmethod
    def create() -> EventTimeTrigger:
        return EventTimeTrigger()


class CountTrigger(triggers.CountTrigger):
    """Fires at every so many records of a key and window (rule 10.19). PyFlink: CountTrigger."""

    __slots__ = ()

    @staticmethod
    def of(window_size: int) -> CountTrigger:
        return CountTrigger(window_size)


class PurgingTrigger(triggers.PurgingTrigger):
    """Purges the window whenever another trigger fires (rule 10.20). PyFlink: PurgingTrigger."""

    __slots__ = ()

    @staticmethod
    def of(nested_trigger: Trigger) -> PurgingTrigger:
        return PurgingTrigger(nested_trigger)
