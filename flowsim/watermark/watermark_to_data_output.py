"""Turns what a generator says into watermarks and statuses of a stream. Flink: WatermarkToDataOutput (rule 8.5)."""

from __future__ import annotations

from flowsim.streamrecord.elements import WatermarkStatus
from flowsim.units import NO_TIMESTAMP
from flowsim.watermark.status_watermark_valve import ValveOutput


class WatermarkToDataOutput:
    """Lets only strictly increasing watermarks pass, and announces ACTIVE before the first one after an idle time.

    Flink: WatermarkToDataOutput, TimestampsAndWatermarksOperator.WatermarkEmitter.
    """

    __slots__ = ("current_watermark", "idle", "_output")

    def __init__(self, output: ValveOutput) -> None:
        self.current_watermark = NO_TIMESTAMP
        self.idle = False
        self._output = output

    def emit_watermark(self, timestamp: int) -> None:
        if timestamp <= self.current_watermark:
            return
        self.current_watermark = timestamp
        if self.idle:
            self.mark_active()
        self._output.emit_watermark(timestamp)

    def mark_idle(self) -> None:
        if not self.idle:
            self.idle = True
            self._output.emit_watermark_status(WatermarkStatus.IDLE)

    def mark_active(self) -> None:
        if self.idle:
            self.idle = False
            self._output.emit_watermark_status(WatermarkStatus.ACTIVE)
