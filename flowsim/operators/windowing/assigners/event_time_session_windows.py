"""Sessions in event time, with one gap for all. Flink: EventTimeSessionWindows (rule 10.5)."""

from __future__ import annotations

from collections.abc import Sequence

from flowsim.operators.stream_operator import Value
from flowsim.operators.windowing.assigners.session_windows import SessionWindows, fixed_gap
from flowsim.operators.windowing.assigners.window_assigner import WindowAssignerContext
from flowsim.operators.windowing.time_window import TimeWindow, window_from
from flowsim.operators.windowing.triggers.event_time_trigger import EventTimeTrigger
from flowsim.operators.windowing.triggers.trigger import Trigger
from flowsim.units import NO_TIMESTAMP


class EventTimeSessionWindows(SessionWindows):
    """By the records' timestamps; one without a timestamp counts as the least there is. Flink: EventTimeSessionWindows."""

    __slots__ = ("gap_ms",)

    def __init__(self, gap_ms: int) -> None:
        self.gap_ms = fixed_gap(gap_ms)

    def assign_windows(
        self, element: Value, timestamp: int | None, context: WindowAssignerContext
    ) -> Sequence[TimeWindow]:
        return (window_from(NO_TIMESTAMP if timestamp is None else timestamp, self.gap_ms),)

    def default_trigger(self) -> Trigger:
        return EventTimeTrigger()

    def is_event_time(self) -> bool:
        return True
