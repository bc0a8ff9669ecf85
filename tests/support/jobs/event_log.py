"""An operator that logs the calls that it receives."""

from __future__ import annotations

from flowsim.operators.stream_operator import StreamOperator
from flowsim.units import MAX_WATERMARK

Log = list[tuple[str, str]]
"""(operator, step), in order."""


class LogsLifeCycle(StreamOperator):
    """Logs every step of its life cycle except records, and forwards everything."""

    def __init__(self, log: Log) -> None:
        self.log = log

    def note(self, step: str) -> None:
        self.log.append((self.ctx.operator_name, step))

    def note_record(self, value: object) -> None:
        """For subclasses that log records as well."""

    def open(self) -> None:
        self.note("open")

    def process_element(self, value: object, timestamp: int | None) -> None:
        self.records_in += 1
        self.clock.now_ns += self.cost_ns
        self.note_record(value)
        self.output.collect(value, timestamp)

    def process_watermark(self, timestamp: int) -> None:
        self.note("max watermark" if timestamp == MAX_WATERMARK else f"watermark {timestamp}")
        self.output.emit_watermark(timestamp)

    def end_input(self) -> None:
        self.note("end_input")

    def finish(self) -> None:
        self.note("finish")

    def close(self) -> None:
        self.note("close")
