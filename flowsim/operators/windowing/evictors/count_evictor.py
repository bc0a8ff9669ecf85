"""Keeps the last records. Flink: CountEvictor (rule 10.31)."""

from __future__ import annotations

from flowsim.operators.windowing.evictors.evictor import EvictorContext, TimestampedValue
from flowsim.operators.windowing.window import Window


class CountEvictor:
    """Keeps the ``max_count`` records that came last. Flink: CountEvictor."""

    __slots__ = ("max_count", "do_evict_after")

    def __init__(self, max_count: int, do_evict_after: bool = False) -> None:
        self.max_count = max_count
        self.do_evict_after = do_evict_after

    def evict_before(self, elements: list[TimestampedValue], size: int, window: Window, ctx: EvictorContext) -> None:
        if not self.do_evict_after:
            self._evict(elements, size)

    def evict_after(self, elements: list[TimestampedValue], size: int, window: Window, ctx: EvictorContext) -> None:
        if self.do_evict_after:
            self._evict(elements, size)

    def _evict(self, elements: list[TimestampedValue], size: int) -> None:
        if size > self.max_count:
            del elements[: size - self.max_count]
