"""The sink behind ``DataStream.print``. Flink: PrintSink."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TextIO

from flowsim.operators.stream_operator import OperatorContext


class PrintSink:
    """Prints ``str(value)`` of every record, with Flink's prefix.

    The prefix is ``identifier:subtask> ``, subtasks counted from 1; without identifier ``subtask> ``; at parallelism 1
    the subtask is omitted. ``stream`` defaults to standard output. Flink: PrintSinkOutputWriter.
    """

    kind = "print"

    def __init__(self, identifier: str = "", stream: TextIO | None = None) -> None:
        self.identifier = identifier
        self.stream = stream

    @property
    def params(self) -> Mapping[str, object]:
        return {"identifier": self.identifier}

    def create_writer(self) -> PrintWriter:
        """Creates a writer for one subtask."""
        return PrintWriter(self)


class PrintWriter:
    """Prints the records of one subtask."""

    def __init__(self, sink: PrintSink) -> None:
        self._sink = sink
        self._prefix = ""

    def open(self, ctx: OperatorContext) -> None:
        parts = [self._sink.identifier] if self._sink.identifier else []
        if ctx.parallelism > 1:
            parts.append(str(ctx.subtask_index + 1))
        self._prefix = ":".join(parts) + "> " if parts else ""
        # Resolved here, because standard output may be redirected after the sink was created.
        self._stream = self._sink.stream if self._sink.stream is not None else sys.stdout

    def write(self, value: object, timestamp: int | None) -> None:
        self._stream.write(f"{self._prefix}{value}\n")

    def flush(self) -> None:
        self._stream.flush()

    def close(self) -> None:
        """Does nothing: the writer does not own the stream."""
