"""``punctuated:``: watermarks that some records carry."""

from __future__ import annotations

from collections.abc import Callable

from flowsim.watermark.generators import WatermarkGenerator, WatermarkOutput


class MarkedByRecords(WatermarkGenerator):
    """After a record for which ``marks`` is true: its timestamp, minus the bound, minus 1 ms (rule 8.3)."""

    __slots__ = ("_marks", "_delay_ms")

    def __init__(self, marks: Callable[[object, int], object], bound_ms: int) -> None:
        self._marks = marks
        self._delay_ms = bound_ms + 1

    def on_event(self, value: object, timestamp: int, output: WatermarkOutput) -> None:
        if self._marks(value, timestamp):
            output.emit_watermark(timestamp - self._delay_ms)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Nothing: records have spoken."""

    def has_pending_effect(self, emitted: int) -> bool:
        return False
