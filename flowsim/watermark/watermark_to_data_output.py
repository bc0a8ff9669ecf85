"""Turns what a generator says into watermarks and statuses of a stream. Flink: WatermarkToDataOutput (rule 8.5)."""

from __future__ import annotations

from flowsim.streamrecord.elements import WatermarkStatus
from flowsim.units import NO_TIMESTAMP
from flowsim.watermark.status_watermark_valve import ValveOutput
from flowsim.watermark.watermark_update_listener import WatermarkUpdateListener


class WatermarkToDataOutput:
    """Lets only strictly increasing watermarks pass, and announces ACTIVE before the first one after an idle time.

    ``listener`` hears of every watermark before it passes, and of every status after it did.
    Flink: WatermarkToDataOutput, TimestampsAndWatermarksOperator.WatermarkEmitter.
    """

    __slots__ = ("current_watermark", "idle", "_output", "_listener")

    def __init__(self, output: ValveOutput, listener: WatermarkUpdateListener | None = None) -> None:
        self.current_watermark = NO_TIMESTAMP
        self.idle = False
        self._output = output
        self._listener = listener

    def emit_watermark(self, timestamp: int) -> None:
        if timestamp > self.current_watermark:
            self.pass_watermark(timestamp)

    def mark_idle(self) -> None:
        self.pass_status(WatermarkStatus.IDLE)

    def mark_active(self) -> None:
        self.pass_status(WatermarkStatus.ACTIVE)

    def pass_watermark(self, timestamp: int) -> None:
        """A watermark that is known to be higher than the last one."""
        self.current_watermark = timestamp
        if self._listener is not None:
            self._listener.update_current_effective_watermark(timestamp)
        if self.idle:
            self.pass_status(WatermarkStatus.ACTIVE)
        self._output.emit_watermark(timestamp)

    def pass_status(self, status: WatermarkStatus) -> None:
        """Rule 8.12: only what changes is said."""
        idle = status is WatermarkStatus.IDLE
        if idle is not self.idle:
            self._output.emit_watermark_status(status)
            if self._listener is not None:
                self._listener.update_idle(idle)
            self.idle = idle
