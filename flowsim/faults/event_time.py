"""Faulty event time: the valve of a task input, and the lateness of windows."""

from __future__ import annotations

from flowsim.operators.windowing.window_lifetime import WindowLifetime
from flowsim.operators.windowing.windows import Window
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


class LateKeepingLifetime(WindowLifetime):
    """A lifetime of windows that are never late."""

    __slots__ = ()

    def is_window_late(self, window: Window, watermark: int) -> bool:
        return False
