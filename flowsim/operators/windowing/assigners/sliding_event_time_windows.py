"""Event-time windows that overlap. Flink: SlidingEventTimeWindows (rule 10.4)."""

from __future__ import annotations

from collections.abc import Sequence

from flowsim.errors import BadInput
from flowsim.operators.stream_operator import Value
from flowsim.operators.windowing.assigners.window_assigner import (
    NO_TIMESTAMP_MESSAGE,
    WindowAssigner,
    WindowAssignerContext,
)
from flowsim.operators.windowing.time_window import TimeWindow
from flowsim.operators.windowing.triggers.event_time_trigger import EventTimeTrigger
from flowsim.operators.windowing.triggers.trigger import Trigger
from flowsim.units import NO_TIMESTAMP


class SlidingEventTimeWindows(WindowAssigner):
    """Windows of one size that begin every ``slide_ms``. Flink: SlidingEventTimeWindows (rule 10.4).

    A slide above the size leaves gaps: a record in a gap belongs to no window.
    """

    __slots__ = ("size_ms", "slide_ms", "offset_ms")

    def __init__(self, size_ms: int, slide_ms: int, offset_ms: int = 0) -> None:
        if size_ms < 1 or abs(offset_ms) >= slide_ms:
            raise BadInput(
                "sliding window: expected size >= 1 ms and |offset| < slide, "
                f"got size {size_ms} ms, slide {slide_ms} ms, offset {offset_ms} ms"
            )
        self.size_ms = size_ms
        self.slide_ms = slide_ms
        self.offset_ms = offset_ms

    def assign_windows(
        self, element: Value, timestamp: int | None, context: WindowAssignerContext
    ) -> Sequence[TimeWindow]:
        if timestamp is None or timestamp == NO_TIMESTAMP:
            raise BadInput(NO_TIMESTAMP_MESSAGE)
        last_start = timestamp - (timestamp - self.offset_ms) % self.slide_ms
        # Newest first, as Flink does.
        starts = range(last_start, timestamp - self.size_ms, -self.slide_ms)
        return [TimeWindow(start, start + self.size_ms) for start in starts]

    def default_trigger(self) -> Trigger:
        return EventTimeTrigger()

    def is_event_time(self) -> bool:
        return True
