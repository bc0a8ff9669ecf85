"""A generator whose work is recorded: what it has seen when it speaks."""

from __future__ import annotations

from flowsim.units import NO_TIMESTAMP
from flowsim.watermark.generators import WatermarkGenerator, WatermarkOutput


class ObservedGenerator(WatermarkGenerator):
    """Counts the records and keeps the highest timestamp that a generator was given; used only while facts are recorded."""

    __slots__ = ("records", "max_timestamp", "_inner")

    def __init__(self, inner: WatermarkGenerator) -> None:
        self.records = 0
        self.max_timestamp = NO_TIMESTAMP
        self._inner = inner

    def on_event(self, value: object, timestamp: int, output: WatermarkOutput) -> None:
        self.records += 1
        if timestamp > self.max_timestamp:
            self.max_timestamp = timestamp
        self._inner.on_event(value, timestamp, output)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        self._inner.on_periodic_emit(output)

    def has_pending_effect(self, emitted: int) -> bool:
        return self._inner.has_pending_effect(emitted)
