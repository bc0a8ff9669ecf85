"""Keeps what is close to the last record. Flink: DeltaEvictor (rule 10.31)."""

from __future__ import annotations

from flowsim.operators.windowing.delta_function import DeltaFunction
from flowsim.operators.windowing.evictors.evictor import EvictorContext, TimestampedValue
from flowsim.operators.windowing.window import Window


class DeltaEvictor:
    """Keeps the records whose distance to the last one is below ``threshold``. Flink: DeltaEvictor."""

    __slots__ = ("threshold", "delta_function", "do_evict_after")

    def __init__(self, threshold: float, delta_function: DeltaFunction, do_evict_after: bool = False) -> None:
        self.threshold = threshold
        self.delta_function = delta_function
        self.do_evict_after = do_evict_after

    def evict_before(self, elements: list[TimestampedValue], size: int, window: Window, ctx: EvictorContext) -> None:
        if not self.do_evict_after:
            self._evict(elements)

    def evict_after(self, elements: list[TimestampedValue], size: int, window: Window, ctx: EvictorContext) -> None:
        if self.do_evict_after:
            self._evict(elements)

    def _evict(self, elements: list[TimestampedValue]) -> None:
        if not elements:
            return
        delta, threshold, last = self.delta_function, self.threshold, elements[-1].value
        # Not the same as "below the threshold": what is not a number evicts nothing.
        elements[:] = [element for element in elements if not delta(element.value, last) >= threshold]
