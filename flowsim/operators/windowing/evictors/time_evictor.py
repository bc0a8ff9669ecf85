"""Keeps the newest records. Flink: TimeEvictor (rule 10.31)."""

from __future__ import annotations

from flowsim.errors import BadInput
from flowsim.operators.windowing.evictors.evictor import EvictorContext, TimestampedValue
from flowsim.operators.windowing.window import Window
from flowsim.values.java_long import wrapped


class TimeEvictor:
    """Keeps the records less than ``window_ms`` older than the newest one. Flink: TimeEvictor.

    Nothing is evicted where the first record has no timestamp; raises BadInput where only a later one has none.
    """

    __slots__ = ("window_ms", "do_evict_after")

    def __init__(self, window_ms: int, do_evict_after: bool = False) -> None:
        self.window_ms = window_ms
        self.do_evict_after = do_evict_after

    def evict_before(self, elements: list[TimestampedValue], size: int, window: Window, ctx: EvictorContext) -> None:
        if not self.do_evict_after:
            self._evict(elements)

    def evict_after(self, elements: list[TimestampedValue], size: int, window: Window, ctx: EvictorContext) -> None:
        if self.do_evict_after:
            self._evict(elements)

    def _evict(self, elements: list[TimestampedValue]) -> None:
        if not elements or elements[0].timestamp is None:
            return
        cutoff = wrapped(max(map(_timestamp, elements)) - self.window_ms)
        elements[:] = [element for element in elements if _timestamp(element) > cutoff]


def _timestamp(element: TimestampedValue) -> int:
    if element.timestamp is None:
        raise BadInput(
            "TimeEvictor: a record of the window has no timestamp and the first one has: give all of them timestamps "
            "(assign_timestamps_and_watermarks) before the window"
        )
    return element.timestamp
