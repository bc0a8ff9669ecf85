"""Event-time windows that overlap. Flink: SlidingEventTimeWindows (rule 10.4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from flowsim.errors import BadInput
from flowsim.operators.stream_operator import Value
from flowsim.operators.windowing.assigners.sliding_windows import SlidingWindows
from flowsim.operators.windowing.assigners.window_assigner import WindowAssignerContext, event_timestamp
from flowsim.operators.windowing.time_window import TimeWindow
from flowsim.operators.windowing.triggers.event_time_trigger import EventTimeTrigger
from flowsim.operators.windowing.triggers.trigger import Trigger

MAX_WINDOW_NUM: Final = 10_000_000


class SlidingEventTimeWindows(SlidingWindows):
    """By the records' timestamps; a record without one is refused with BadInput. Flink: SlidingEventTimeWindows.

    A record may belong to ten million windows at most.
    """

    __slots__ = ()

    def __init__(self, size_ms: int, slide_ms: int, offset_ms: int = 0) -> None:
        super().__init__(size_ms, slide_ms, offset_ms)
        if size_ms // slide_ms > MAX_WINDOW_NUM:
            raise BadInput(
                f"sliding window: expected size / slide <= {MAX_WINDOW_NUM}, got size {size_ms} ms, slide {slide_ms} ms: "
                "choose a longer slide"
            )

    def assign_windows(
        self, element: Value, timestamp: int | None, context: WindowAssignerContext
    ) -> Sequence[TimeWindow]:
        return self.windows_of(event_timestamp(timestamp))

    def default_trigger(self) -> Trigger:
        return EventTimeTrigger()

    def is_event_time(self) -> bool:
        return True
