"""Faulty event time: the valve of a task input, and the lateness of windows."""

from __future__ import annotations

from flowsim.operators.windowing.window_lifetime import WindowLifetime
from flowsim.operators.windowing.windows import Window
from flowsim.streamrecord.elements import WatermarkStatus
from flowsim.watermark.status_watermark_valve import StatusWatermarkValve


class MaximumWatermarkValve(StatusWatermarkValve):
    """A valve that emits the watermark of the fastest aligned channel instead of the slowest.

    The invariants of the valve do not hold.
    """

    __slots__ = ()

    def _emit_minimum(self) -> None:
        reached = [self._watermarks[channel] for channel, aligned in enumerate(self._aligned) if aligned]
        if reached:
            self._emit_if_new(max(reached))


class IdleValveWithoutMaximum(StatusWatermarkValve):
    """A valve that becomes idle without the maximum of its channels, as in Flink before FLINK-7728 was repaired."""

    __slots__ = ()

    def _become_idle(self, channel: int) -> None:
        self._idle[channel] = True
        self._aligned[channel] = False
        self._active_count -= 1
        if self._active_count == 0:
            self.last_output_status = WatermarkStatus.IDLE
            self._output.emit_watermark_status(WatermarkStatus.IDLE)
        elif self._watermarks[channel] == self.last_output_watermark:
            self._emit_minimum()


class LateKeepingLifetime(WindowLifetime):
    """A lifetime of windows that are never late."""

    __slots__ = ()

    def is_window_late(self, window: Window, watermark: int) -> bool:
        return False
