"""What tumbling windows of both kinds of time share. Flink: TumblingEventTimeWindows, TumblingProcessingTimeWindows."""

from __future__ import annotations

from flowsim.errors import BadInput
from flowsim.operators.windowing.assigners.window_assigner import WindowAssigner, WindowAssignerContext
from flowsim.operators.windowing.time_window import FAR, TimeWindow, window_from, window_start_with_offset
from flowsim.operators.windowing.window_stagger import WindowStagger
from flowsim.values.java_long import remainder, wrapped


class TumblingWindows(WindowAssigner):
    """Windows of one size, end to end; raises BadInput unless size >= 1 ms and \\|offset\\| < size (rules 10.1-10.3).

    The stagger is fixed with the first record that one copy of the assigner sees: every subtask has its own copy.
    """

    __slots__ = ("size_ms", "offset_ms", "stagger", "phase_ms", "_is_staggered")

    phase_ms: int
    """Where windows begin, with the sign of the offset as in Java; without the stagger until that is fixed."""

    def __init__(self, size_ms: int, offset_ms: int = 0, stagger: WindowStagger = WindowStagger.ALIGNED) -> None:
        if size_ms < 1 or abs(offset_ms) >= size_ms:
            raise BadInput(
                f"tumbling window: expected size >= 1 ms and |offset| < size, got size {size_ms} ms, offset {offset_ms} ms"
            )
        self.size_ms = size_ms
        self.offset_ms = offset_ms
        self.stagger = stagger
        self.phase_ms = offset_ms
        self._is_staggered = stagger is not WindowStagger.ALIGNED

    def window_of(self, time_ms: int, context: WindowAssignerContext) -> TimeWindow:
        """The one window that ``time_ms`` lies in."""
        if self._is_staggered:
            self._fix_stagger(context)
        size_ms = self.size_ms
        if -FAR < time_ms < FAR and size_ms < FAR:
            start = time_ms - (time_ms - self.phase_ms) % size_ms
            return TimeWindow(start, start + size_ms)
        return window_from(window_start_with_offset(time_ms, self.phase_ms, size_ms), size_ms)

    def _fix_stagger(self, context: WindowAssignerContext) -> None:
        size_ms = self.size_ms
        shift_ms = self.stagger.stagger_offset(context.get_current_processing_time(), size_ms, context.random())
        self.phase_ms = remainder(wrapped(self.offset_ms + shift_ms), size_ms)
        self._is_staggered = False
