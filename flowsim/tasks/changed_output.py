"""Changes the values that an operator emits to its main output."""

from __future__ import annotations

from collections.abc import Callable

from flowsim.operators.stream_operator import Value
from flowsim.streamrecord.elements import LatencyMarker, OutputTag, WatermarkStatus
from flowsim.streamrecord.output import Output


class ChangedOutput(Output):
    """Passes on what a function makes of each value; side outputs keep their values."""

    __slots__ = ("_output", "_change")

    def __init__(self, output: Output, change: Callable[[Value], Value]) -> None:
        self._output = output
        self._change = change

    def collect(self, value: Value, timestamp: int | None) -> None:
        self._output.collect(self._change(value), timestamp)

    def collect_side(self, tag: OutputTag, value: Value, timestamp: int | None) -> None:
        self._output.collect_side(tag, value, timestamp)

    def emit_watermark(self, timestamp: int) -> None:
        self._output.emit_watermark(timestamp)

    def emit_watermark_status(self, status: WatermarkStatus) -> None:
        self._output.emit_watermark_status(status)

    def emit_latency_marker(self, marker: LatencyMarker) -> None:
        self._output.emit_latency_marker(marker)
