"""Passes the watermarks of a strategy to an output. Flink: WatermarkToDataOutput, IdlenessManager."""

from __future__ import annotations

from typing import Protocol

from flowsim.streamrecord.elements import WatermarkStatus
from flowsim.units import NO_TIMESTAMP
from flowsim.watermark.status_watermark_valve import ValveOutput


class WatermarkUpdateListener(Protocol):
    """A listener for the watermark and status of a source and of its splits, for alignment (rules 8.22-8.24).

    A Protocol, because this package does not know operators: the alignment of a source listens.
    Flink: TimestampsAndWatermarks.WatermarkUpdateListener.
    """

    def update_idle(self, idle: bool) -> None:
        """Called when the whole source became idle or active."""

    def update_current_effective_watermark(self, watermark: int) -> None:
        """Called before the source emits a watermark, in ms."""

    def update_current_split_watermark(self, split_id: str, watermark: int) -> None:
        """Called when the watermark of a split, in ms, increased."""

    def update_current_split_idle(self, split_id: str, idle: bool) -> None:
        """Called for every update of a split, even without a change."""

    def split_finished(self, split_id: str) -> None: ...


class WatermarkToDataOutput:
    """Emits only strictly increasing watermarks, and ACTIVE before the first one after an idle time.

    ``listener`` is notified of a watermark before its emission, and of a status after its emission. Flink:
    WatermarkToDataOutput, TimestampsAndWatermarksOperator.WatermarkEmitter.
    """

    __slots__ = ("current_watermark", "idle", "_output", "_listener")

    def __init__(self, output: ValveOutput, listener: WatermarkUpdateListener | None = None) -> None:
        self.current_watermark: int = NO_TIMESTAMP
        self.idle: bool = False
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
        """Emits a watermark that is known to be higher than the last one."""
        self.current_watermark = timestamp
        if self._listener is not None:
            self._listener.update_current_effective_watermark(timestamp)
        if self.idle:
            self.pass_status(WatermarkStatus.ACTIVE)
        self._output.emit_watermark(timestamp)

    def pass_status(self, status: WatermarkStatus) -> None:
        """Emits a status if it differs from the last status (rule 8.12)."""
        idle = status is WatermarkStatus.IDLE
        if idle is not self.idle:
            self._output.emit_watermark_status(status)
            if self._listener is not None:
                self._listener.update_idle(idle)
            self.idle = idle


class MainWatermarkOutput(WatermarkToDataOutput):
    """The watermark output of a source's main output; its splits use ``split_local_output``.

    Each of these two outputs counts as idle until its first watermark. The watermark is the higher of the two (rule
    8.6). The outputs are not merged, because a source uses only one of them. Flink:
    ProgressiveTimestampsAndWatermarks.IdlenessManager.
    """

    __slots__ = ("split_local_output", "main_is_idle")

    def __init__(self, output: ValveOutput, listener: WatermarkUpdateListener | None = None) -> None:
        super().__init__(output, listener)
        self.main_is_idle: bool = True
        self.split_local_output: SplitLocalWatermarkOutput = SplitLocalWatermarkOutput(self)

    def emit_watermark(self, timestamp: int) -> None:
        if timestamp > self.current_watermark:
            if self.idle or self._listener is not None:
                self.pass_watermark(timestamp)
            else:
                # The same, inlined: some strategies emit at every record.
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
    """The combined watermark output of all splits. Flink: IdlenessManager.IdlenessAwareWatermarkOutput."""

    __slots__ = ("is_idle", "_main")

    def __init__(self, main: MainWatermarkOutput) -> None:
        self.is_idle: bool = True
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
