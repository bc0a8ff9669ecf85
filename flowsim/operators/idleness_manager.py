"""A source is idle when both its main output and its splits are. Flink: ProgressiveTimestampsAndWatermarks.IdlenessManager."""

from __future__ import annotations

from flowsim.streamrecord.elements import WatermarkStatus
from flowsim.watermark.status_watermark_valve import ValveOutput
from flowsim.watermark.watermark_to_data_output import WatermarkToDataOutput
from flowsim.watermark.watermark_update_listener import WatermarkUpdateListener


class MainWatermarkOutput(WatermarkToDataOutput):
    """Where the main output of a source speaks, and behind it the stream; its splits speak through ``split_local_output``.

    Either counts as idle until it speaks. The watermark is the higher of the two (rule 8.6): they are not merged, for a
    source uses one or the other. Flink: ProgressiveTimestampsAndWatermarks.IdlenessManager.
    """

    __slots__ = ("split_local_output", "main_is_idle")

    def __init__(
        self, output: ValveOutput, listener: WatermarkUpdateListener | None = None, faults: frozenset[str] = frozenset()
    ) -> None:
        super().__init__(output, listener, faults)
        self.main_is_idle = True
        self.split_local_output = SplitLocalWatermarkOutput(self)

    def emit_watermark(self, timestamp: int) -> None:
        if timestamp > self.current_watermark:
            if self.idle or self._listener is not None:
                self.pass_watermark(timestamp)
            else:
                # The same, written out: some strategies speak at every record.
                self.current_watermark = timestamp
                self._output.emit_watermark(timestamp)
        self.main_is_idle = False

    def mark_idle(self) -> None:
        self.main_is_idle = True
        if self.split_local_output.is_idle:
            self.pass_status(WatermarkStatus.IDLE)

    def mark_active(self) -> None:
        self.main_is_idle = False
        self.pass_status(WatermarkStatus.ACTIVE)


class SplitLocalWatermarkOutput:
    """What all splits together say. Flink: IdlenessManager.IdlenessAwareWatermarkOutput."""

    __slots__ = ("is_idle", "_main")

    def __init__(self, main: MainWatermarkOutput) -> None:
        self.is_idle = True
        self._main = main

    def emit_watermark(self, timestamp: int) -> None:
        if timestamp > self._main.current_watermark:
            self._main.pass_watermark(timestamp)
        self.is_idle = False

    def mark_idle(self) -> None:
        self.is_idle = True
        if self._main.main_is_idle:
            self._main.pass_status(WatermarkStatus.IDLE)

    def mark_active(self) -> None:
        self.is_idle = False
        self._main.pass_status(WatermarkStatus.ACTIVE)
