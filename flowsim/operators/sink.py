"""The sink operator. Flink: SinkWriterOperator."""

from __future__ import annotations

from typing import Protocol

from flowsim.operators.stream_operator import OperatorContext, StreamOperator, Value
from flowsim.streamrecord.elements import LatencyMarker


class SinkWriter(Protocol):
    """Writes the records of a sink; one per subtask. Flink: SinkWriter."""

    def open(self, ctx: OperatorContext) -> None:
        """Called before the first record; ``ctx`` names the operator and its subtask."""

    def write(self, value: Value, timestamp: int | None) -> None: ...

    def flush(self) -> None:
        """Persists all records written so far; called at the end of the input."""

    def close(self) -> None:
        """Called exactly once after a successful ``open``, also after a failure."""


class SinkOperator(StreamOperator):
    """Passes every record to a writer. Flink: SinkWriterOperator."""

    __slots__ = ("writer", "_write", "_is_open")

    def __init__(self, writer: SinkWriter) -> None:
        self.writer = writer
        self._write = writer.write
        self._is_open = False

    def open(self) -> None:
        self.writer.open(self.ctx)
        self._is_open = True

    def process_element(self, value: Value, timestamp: int | None) -> None:
        self.clock.now_ns += self.cost_ns
        self.records_in += 1
        self._write(value, timestamp)

    def process_latency_marker(self, marker: LatencyMarker) -> None:
        """Reports the latency of a marker; latency markers end at a sink (rule 8.20)."""
        self.report_latency(marker)

    def finish(self) -> None:
        self.writer.flush()

    def retain_results(self) -> None:
        self.writer.flush()

    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            self.writer.close()
