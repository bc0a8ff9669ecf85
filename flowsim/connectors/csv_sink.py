"""The CSV sink."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import TextIO

from flowsim.connectors.columns import columns_of
from flowsim.connectors.row_layout import RowLayout
from flowsim.connectors.text_part import TextWriter, WriteRow


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

    def create_writer(self) -> TextWriter:
        """A writer for one subtask."""
        layout = RowLayout(self.columns, f"csv sink {str(self.directory)!r}")
        return TextWriter(self.directory, "csv", layout, self._begin)

    def _begin(self, file: TextIO) -> WriteRow:
        write = csv.writer(file, lineterminator="\n").writerow
        write([column.name for column in self.columns])
        return lambda row: write([_BOOLEANS[field] if type(field) is bool else field for field in row])


_BOOLEANS = {True: "true", False: "false"}
