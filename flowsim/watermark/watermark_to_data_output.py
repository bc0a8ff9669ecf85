"""Turns what a generator says into watermarks and statuses of a stream. Flink: WatermarkToDataOutput (rule 8.5)."""

from __future__ import annotations

from typing import Final

from flowsim.streamrecord.elements import WatermarkStatus
from flowsim.units import NO_TIMESTAMP
from flowsim.watermark.status_watermark_valve import ValveOutput
from flowsim.watermark.watermark_update_listener import WatermarkUpdateListener

FAULT_SPEAKS_WHILE_IDLE: Final = "idle_but_speaking"


class WatermarkToDataOutput:
    """Lets only strictly increasing watermarks pass, and announces ACTIVE before the first one after an idle time.

    ``listener`` hears of every watermark before it passes, and of every status after it did. ``faults`` may hold
    ``FAULT_SPEAKS_WHILE_IDLE``: the end of an idle time is not announced.
    Flink: WatermarkToDataOutput, TimestampsAndWatermarksOperator.WatermarkEmitter.
    """

    __slots__ = ("current_watermark", "idle", "_output", "_listener", "_hides_active")

    def __init__(
        self, output: ValveOutput, listener: WatermarkUpdateListener | None = None, faults: frozenset[str] = frozenset()
    ) -> None:
        self.current_watermark = NO_TIMESTAMP
        self.idle = False
        self._output = output
        self._listener = listener
        self._hides_active = FAULT_SPEAKS_WHILE_IDLE in faults

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
            if idle or not self._hides_active:
                self._output.emit_watermark_status(status)
            if self._listener is not None:
                self._listener.update_idle(idle)
            self.idle = idle
