"""An output in front of another one."""

from __future__ import annotations

from flowsim.operators.stream_operator import Value
from flowsim.streamrecord.elements import LatencyMarker, OutputTag, WatermarkStatus
from flowsim.streamrecord.output import Output


class ForwardingOutput(Output):
    """Passes everything on; a subclass changes what it does with records."""

    __slots__ = ("_output",)

    def __init__(self, output: Output) -> None:
        self._output = output

    def collect(self, value: Value, timestamp: int | None) -> None:
        self._output.collect(value, timestamp)

    def collect_side(self, tag: OutputTag, value: Value, timestamp: int | None) -> None:
        self._output.collect_side(tag, value, timestamp)

    def emit_watermark(self, timestamp: int) -> None:
        self._output.emit_watermark(timestamp)

    def emit_watermark_status(self, status: WatermarkStatus) -> None:
        self._output.emit_watermark_status(status)

    def emit_latency_marker(self, marker: LatencyMarker) -> None:
        self._output.emit_latency_marker(marker)
