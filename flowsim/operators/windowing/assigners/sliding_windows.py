"""What sliding windows of both kinds of time share. Flink: SlidingEventTimeWindows, SlidingProcessingTimeWindows."""

from __future__ import annotations

from flowsim.errors import BadInput
from flowsim.operators.windowing.assigners.window_assigner import WindowAssigner
from flowsim.operators.windowing.time_window import FAR, TimeWindow, window_from, window_start_with_offset
from flowsim.values.java_long import wrapped


class SlidingWindows(WindowAssigner):
    """Windows of one size that begin every ``slide_ms`` (rules 10.1, 10.4).

    A slide above the size leaves gaps: a record in a gap belongs to no window. Raises BadInput unless size >= 1 ms and
    \\|offset\\| < slide.
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

    def windows_of(self, time_ms: int) -> list[TimeWindow]:
        """All windows that ``time_ms`` lies in, the newest first."""
        size_ms, slide_ms = self.size_ms, self.slide_ms
        if -FAR < time_ms < FAR and size_ms < FAR and slide_ms < FAR:
            last_start = time_ms - (time_ms - self.offset_ms) % slide_ms
            return [TimeWindow(start, start + size_ms) for start in range(last_start, time_ms - size_ms, -slide_ms)]
        last_start = window_start_with_offset(time_ms, self.offset_ms, slide_ms)
        if last_start > time_ms:
            # It would begin before the least timestamp. Flink goes on from the other end of time there, for ever.
            return []
        starts = range(last_start, wrapped(time_ms - size_ms), -slide_ms)
        return [window_from(start, size_ms) for start in starts]
