"""The CSV sink."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import TextIO

from flowsim.connectors.columns import columns_of
from flowsim.connectors.part_file import PartFile
from flowsim.connectors.row_layout import RowLayout
from flowsim.operators.stream_operator import OperatorContext


class CsvSink:
    """Writes each subtask's rows, with a header line, to ``part-<subtask>.csv`` of a folder of its own.

    None becomes an empty field, a boolean ``true`` or ``false``; lines end with ``\\n``; text is UTF-8.
    """

    kind = "csv"

    def __init__(self, directory: str | Path, fields: Mapping[str, str]) -> None:
        self.directory = directory
        self.columns = columns_of(fields, f"csv sink {str(directory)!r}")

    @property
    def params(self) -> Mapping[str, object]:
        return {"columns": {column.name: column.type.value for column in self.columns}}

    def create_writer(self) -> CsvWriter:
        """A writer for one subtask."""
        return CsvWriter(self)


class CsvWriter:
    """Writes one part."""

    def __init__(self, sink: CsvSink) -> None:
        self._sink = sink
        self._layout = RowLayout(sink.columns, f"csv sink {str(sink.directory)!r}")
        self._part: PartFile | None = None
        self._file: TextIO | None = None
        self._is_complete = False

    def open(self, ctx: OperatorContext) -> None:
        self._part = PartFile(self._sink.directory, "csv", ctx.subtask_index, ctx.parallelism)
        self._file = self._part.growing.open("w", encoding="utf-8", newline="")
        self._write_row = csv.writer(self._file, lineterminator="\n").writerow
        self._write_row([column.name for column in self._sink.columns])

    def write(self, value: object, timestamp: int | None) -> None:
        self._write_row([_BOOLEANS[field] if type(field) is bool else field for field in self._layout.row(value)])

    def flush(self) -> None:
        """The input ended: what is there is all there will be."""
        self._is_complete = True

    def close(self) -> None:
        if self._file is None or self._part is None:
            return
        self._file.close()
        self._file = None
        self._part.close(self._is_complete)


_BOOLEANS = {True: "true", False: "false"}
