"""A valve for the model job, written plainly from its rules."""

from __future__ import annotations

from flowsim.facts.kinds import ElementKind
from flowsim.units import NO_TIMESTAMP

WATERMARK, STATUS = ElementKind.WATERMARK, ElementKind.STATUS


class Valve:
    """Rules 8.9-8.12, word by word, with lists."""

    def __init__(self, channels: int) -> None:
        self.watermark = [NO_TIMESTAMP] * channels
        self.active = [True] * channels
        self.aligned = [True] * channels
        self.last, self.last_active = NO_TIMESTAMP, True

    def _advance(self, to: int) -> list[tuple[ElementKind, int]]:
        if to <= self.last:
            return []
        self.last = to
        return [(WATERMARK, to)]

    def _minimum(self) -> list[tuple[ElementKind, int]]:
        held = [w for w, a in zip(self.watermark, self.aligned, strict=True) if a]
        return self._advance(min(held)) if held else []

    def on_watermark(self, channel: int, timestamp: int) -> list[tuple[ElementKind, int]]:
        if not (self.last_active and self.active[channel]) or timestamp <= self.watermark[channel]:
            return []
        self.watermark[channel] = timestamp
        if not self.aligned[channel] and timestamp >= self.last:
            self.aligned[channel] = True
        return self._minimum()

    def on_status(self, channel: int, status: int) -> list[tuple[ElementKind, int]]:
        if (status == 0) == self.active[channel]:
            return []
        self.active[channel] = status == 0
        if status == 0:
            self.aligned[channel] = self.watermark[channel] >= self.last
            if self.last_active:
                return []
            self.last_active = True
            return [(STATUS, 0)]
        self.aligned[channel] = False
        held_back = self.watermark[channel] == self.last
        if any(self.active):
            return self._minimum() if held_back else []
        out = self._advance(max(self.watermark)) if held_back else []
        self.last_active = False
        return [*out, (STATUS, -1)]
