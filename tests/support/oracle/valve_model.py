"""The oracle's valve (rules 8.9 to 8.12), written from the rules without code of the simulated one."""

from __future__ import annotations

from typing import Final

from flowsim.facts.kinds import ElementKind
from flowsim.units import NO_TIMESTAMP

ACTIVE: Final = 0
IDLE: Final = -1

Emission = tuple[int, int, int]
"""Task input, kind (WATERMARK or STATUS) and timestamp or status."""


class ValveModel:
    """Folds the watermarks and statuses of one task input's channels."""

    __slots__ = ("_active", "_aligned", "_input", "_last", "_last_status", "_watermarks")

    def __init__(self, input_index: int, channels: int) -> None:
        self._input = input_index
        self._watermarks = [NO_TIMESTAMP] * channels
        self._active = [True] * channels
        self._aligned = [True] * channels
        self._last = NO_TIMESTAMP
        self._last_status = ACTIVE

    def on_element(self, channel: int, kind: int, timestamp: int) -> list[Emission]:
        """What the input emits for one element of one channel, in order."""
        if kind == ElementKind.WATERMARK:
            return self._on_watermark(channel, timestamp)
        if kind == ElementKind.STATUS and (timestamp == ACTIVE) != self._active[channel]:
            return self._on_active(channel) if timestamp == ACTIVE else self._on_idle(channel)
        return []

    def _on_watermark(self, channel: int, timestamp: int) -> list[Emission]:
        if self._last_status == IDLE or not self._active[channel] or timestamp <= self._watermarks[channel]:
            return []
        self._watermarks[channel] = timestamp
        if timestamp >= self._last:
            self._aligned[channel] = True
        return self._emit_minimum()

    def _on_active(self, channel: int) -> list[Emission]:
        self._active[channel] = True
        # Rule 8.11: a channel that fell behind while idle must catch up before it may hold the input back again.
        self._aligned[channel] = self._watermarks[channel] >= self._last
        return self._emit_status(ACTIVE) if self._last_status == IDLE else []

    def _on_idle(self, channel: int) -> list[Emission]:
        self._active[channel] = self._aligned[channel] = False
        held_back = self._watermarks[channel] == self._last
        if any(self._active):
            return self._emit_minimum() if held_back else []
        # Rule 8.10: the last channel to go idle flushes the maximum, if it was the one that held the input back.
        flushed = self._emit_if_greater(max(self._watermarks)) if held_back else []
        return flushed + self._emit_status(IDLE)

    def _emit_minimum(self) -> list[Emission]:
        aligned = [w for w, counts in zip(self._watermarks, self._aligned, strict=True) if counts]
        return self._emit_if_greater(min(aligned)) if aligned else []

    def _emit_if_greater(self, timestamp: int) -> list[Emission]:
        if timestamp <= self._last:
            return []
        self._last = timestamp
        return [(self._input, ElementKind.WATERMARK, timestamp)]

    def _emit_status(self, status: int) -> list[Emission]:
        self._last_status = status
        return [(self._input, ElementKind.STATUS, status)]
