"""The sink behind ``DataStream.print``. Flink: PrintSink."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import TextIO

from flowsim.operators.sink import InitContext


class PrintSink:
    """Prints every record as ``text(value)``, with Flink's prefix.

    The prefix is ``identifier:subtask> ``, subtasks counted from 1; without identifier ``subtask> ``; at parallelism 1
    the subtask is omitted. ``stream`` defaults to standard output. Flink: PrintSinkOutputWriter.
    """

    kind = "print"

    def __init__(self, identifier: str = "", stream: TextIO | None = None, text: Callable[[object], str] = str) -> None:
        self.identifier = identifier
        self.text: Callable[[object], str] = text
        self.stream = stream
        self.committed_rows: int = 0
        """The number of records that were printed, in all attempts."""

    @property
    def params(self) -> Mapping[str, object]:
        return {"identifier": self.identifier}

    def create_writer(self, context: InitContext) -> PrintWriter:
        """Creates a writer for one subtask."""
        parts = [self.identifier] if self.identifier else []
        if context.parallelism > 1:
            parts.append(str(context.subtask_index + 1))
        prefix = ":".join(parts) + "> " if parts else ""
        # Read here, because standard output may be redirected after the sink was created.
        return PrintWriter(self, sys.stdout if self.stream is None else self.stream, prefix)


class PrintWriter:
    """Prints the records of one subtask."""

    def __init__(self, sink: PrintSink, stream: TextIO, prefix: str) -> None:
        self._sink = sink
        self._text = sink.text
        self._stream = stream
        self._prefix = prefix

    def write(self, value: object, timestamp: int | None) -> None:
        self._stream.write(f"{self._prefix}{self._text(value)}\n")
        self._sink.committed_rows += 1

    def flush(self, end_of_input: bool) -> None:
        self._stream.flush()

    def close(self) -> None:
        """Does nothing: the writer does not own the stream."""
