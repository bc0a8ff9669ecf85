"""The law's own valve (rules 8.9 to 8.12), written from the rules and independent of the simulated one."""

from __future__ import annotations

from typing import Final

from flowsim.laws.event_time.paths import ACTIVE, IDLE, STATUS, WATERMARK
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP

Emission = tuple[int, int, int]
"""Task input, kind (WATERMARK or STATUS) and timestamp or status."""
_NOTHING: Final[list[Emission]] = []
_NOT_ALIGNED: Final = MAX_WATERMARK + 1


class ValveModel:
    """Combines the watermarks and statuses of the channels of one task input.

    A channel is aligned if it is active and not behind the input's last watermark; the minimum over the aligned
    channels is the input's watermark. ``_aligned`` has the watermarks of aligned channels, and ``_NOT_ALIGNED`` for the
    others.
    """

    __slots__ = ("_active", "_aligned", "_holder", "_input", "_last", "_last_status", "_watermarks")

    def __init__(self, input_index: int, channels: int) -> None:
        self._input = input_index
        self._watermarks = [NO_TIMESTAMP] * channels
        self._aligned = [NO_TIMESTAMP] * channels
        self._active = [True] * channels
        self._last = NO_TIMESTAMP
        self._last_status = ACTIVE
        self._holder = 0
        """A channel that held the input back at the last comparison."""

    def on_element(self, channel: int, kind: int, timestamp: int) -> list[Emission]:
        """The input's emissions for one watermark or status of one channel, in order."""
        if kind == WATERMARK:
            if timestamp <= self._watermarks[channel] or not self._active[channel] or self._last_status == IDLE:
                return _NOTHING
            self._watermarks[channel] = timestamp
            if timestamp >= self._last or self._aligned[channel] != _NOT_ALIGNED:
                self._aligned[channel] = timestamp
            return _NOTHING if self._aligned[self._holder] <= self._last else self._emit_minimum()
        if kind == STATUS and (timestamp == ACTIVE) != self._active[channel]:
            return self._on_active(channel) if timestamp == ACTIVE else self._on_idle(channel)
        return _NOTHING

    def watermark(self, channel: int) -> int:
        """The last watermark of a channel that counted."""
        return self._watermarks[channel]

    def is_active(self, channel: int) -> bool:
        return self._active[channel]

    def is_aligned(self, channel: int) -> bool:
        """Whether the input waits for the watermark of a channel."""
        return self._aligned[channel] != _NOT_ALIGNED

    def _on_active(self, channel: int) -> list[Emission]:
        self._active[channel] = True
        # Rule 8.11: a channel that fell behind while idle must catch up before it can hold back the input.
        watermark = self._watermarks[channel]
        self._aligned[channel] = watermark if watermark >= self._last else _NOT_ALIGNED
        return self._emit_status(ACTIVE) if self._last_status == IDLE else _NOTHING

    def _on_idle(self, channel: int) -> list[Emission]:
        self._active[channel] = False
        self._aligned[channel] = _NOT_ALIGNED
        held_back = self._watermarks[channel] == self._last
        if any(self._active):
            return self._emit_minimum() if held_back else _NOTHING
        # Rule 8.10: the last channel to become idle flushes the maximum, if it was the one that held back the input.
        flushed = self._emit_if_greater(max(self._watermarks)) if held_back else _NOTHING
        return flushed + self._emit_status(IDLE)

    def _emit_minimum(self) -> list[Emission]:
        lowest = min(self._aligned)
        self._holder = self._aligned.index(lowest)
        return _NOTHING if lowest == _NOT_ALIGNED else self._emit_if_greater(lowest)

    def _emit_if_greater(self, timestamp: int) -> list[Emission]:
        if timestamp <= self._last:
            return _NOTHING
        self._last = timestamp
        return [(self._input, WATERMARK, timestamp)]

    def _emit_status(self, status: int) -> list[Emission]:
        self._last_status = status
        return [(self._input, STATUS, status)]
