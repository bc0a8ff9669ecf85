"""Overlapping windows of one size. Flink: SlidingEventTimeWindows, SlidingProcessingTimeWindows (rules 10.1, 10.4, 10.6)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from flowsim.errors import BadInput
from flowsim.operators.windowing.assigners.window_assigner import (
    WindowAssigner,
    WindowAssignerContext,
    event_timestamp,
)
from flowsim.operators.windowing.described import described
from flowsim.operators.windowing.triggers.time_triggers import EventTimeTrigger, ProcessingTimeTrigger
from flowsim.operators.windowing.triggers.trigger import AnyTrigger
from flowsim.operators.windowing.windows import FAR, TimeWindow, window_from, window_start_with_offset
from flowsim.values.durations import Length, millis_of
from flowsim.values.java_long import wrapped

MAX_WINDOW_NUM: Final = 10_000_000


class SlidingWindows(WindowAssigner[object, TimeWindow]):
    """Base of sliding windows: windows of one size that begin every slide.

    A slide above the size leaves gaps: a record in a gap belongs to no window. Raises BadInput unless size >= 1 ms and
    \\|offset\\| < slide.
    """

    __slots__ = ("size_ms", "slide_ms", "offset_ms")

    def __init__(self, size: int, slide: int, offset: int = 0) -> None:
        """Takes sizes in ms; ``of`` takes durations."""
        if size < 1 or abs(offset) >= slide:
            raise BadInput(
                "sliding window: expected size >= 1 ms and |offset| < slide, "
                f"got size {size} ms, slide {slide} ms, offset {offset} ms"
            )
        self.size_ms: int = size
        self.slide_ms: int = slide
        self.offset_ms: int = offset

    def windows_of(self, time_ms: int) -> list[TimeWindow]:
        """Returns all windows that contain ``time_ms``, the newest first."""
        size_ms, slide_ms = self.size_ms, self.slide_ms
        if -FAR < time_ms < FAR and size_ms < FAR and slide_ms < FAR:
            last_start = time_ms - (time_ms - self.offset_ms) % slide_ms
            return [TimeWindow(start, start + size_ms) for start in range(last_start, time_ms - size_ms, -slide_ms)]
        last_start = window_start_with_offset(time_ms, self.offset_ms, slide_ms)
        if last_start > time_ms:
            # It would begin before the lowest timestamp. Flink wraps around there and loops endlessly.
            return []
        starts = range(last_start, wrapped(time_ms - size_ms), -slide_ms)
        return [window_from(start, size_ms) for start in starts]


@described("sliding_event_time", size_ms="size_ms", slide_ms="slide_ms", offset_ms="offset_ms")
class SlidingEventTimeWindows(SlidingWindows):
    """Sliding windows by the records' timestamps; raises BadInput for a record without a timestamp.

    PyFlink: SlidingEventTimeWindows. A record may belong to ten million windows at most.
    """

    __slots__ = ()

    def __init__(self, size: int, slide: int, offset: int = 0) -> None:
        """Takes sizes in ms; ``of`` takes durations."""
        super().__init__(size, slide, offset)
        if size // slide > MAX_WINDOW_NUM:
            raise BadInput(
                f"sliding window: expected size / slide <= {MAX_WINDOW_NUM}, got size {size} ms, slide {slide} ms: "
                "choose a longer slide"
            )

    @staticmethod
    def of(size: Length, slide: Length, offset: Length | None = None) -> SlidingEventTimeWindows:
        """Raises BadInput unless size >= 1 ms, |offset| < slide and size / slide is at most ten million."""
        return SlidingEventTimeWindows(*_checked("SlidingEventTimeWindows.of", size, slide, offset))

    def assign_windows(
        self, element: object, timestamp: int | None, context: WindowAssignerContext
    ) -> Sequence[TimeWindow]:
        return self.windows_of(event_timestamp(timestamp))

    def get_default_trigger(self, env: object) -> AnyTrigger:
        return EventTimeTrigger()

    def is_event_time(self) -> bool:
        return True


@described("sliding_processing_time", size_ms="size_ms", slide_ms="slide_ms", offset_ms="offset_ms")
class SlidingProcessingTimeWindows(SlidingWindows):
    """Sliding windows by the operator's clock; timestamps are ignored.

    PyFlink: SlidingProcessingTimeWindows (rule 10.6).
    """

    __slots__ = ()

    @staticmethod
    def of(size: Length, slide: Length, offset: Length | None = None) -> SlidingProcessingTimeWindows:
        """Raises BadInput unless size >= 1 ms and |offset| < slide."""
        return SlidingProcessingTimeWindows(*_checked("SlidingProcessingTimeWindows.of", size, slide, offset))

    def assign_windows(
        self, element: object, timestamp: int | None, context: WindowAssignerContext
    ) -> Sequence[TimeWindow]:
        return self.windows_of(context.get_current_processing_time())

    def get_default_trigger(self, env: object) -> AnyTrigger:
        return ProcessingTimeTrigger()

    def is_event_time(self) -> bool:
        return False


def _checked(what: str, size: Length, slide: Length, offset: Length | None) -> tuple[int, int, int]:
    """Returns size, slide and offset in ms; raises TypeError that names ``what`` for arguments of other types."""
    size_ms, slide_ms = millis_of(size, f"{what}: size"), millis_of(slide, f"{what}: slide")
    return size_ms, slide_ms, 0 if offset is None else millis_of(offset, f"{what}: offset")
