"""The JSON lines sink."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final, TextIO

from flowsim.connectors.columns import columns_of
from flowsim.connectors.row_layout import RowLayout
from flowsim.connectors.text_part import TextWriter, WriteRow
from flowsim.errors import ValueNotAllowed

_ENCODE: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


class JsonLinesSink:
    """Writes each subtask's rows as JSON objects, one a line, to ``part-<subtask>.jsonl`` of a folder of its own.

    Keys are the fields in declared order, None is null; a double that is not finite, which JSON cannot write, is refused.
    """

    kind = "jsonl"

    def __init__(self, directory: str | Path, fields: Mapping[str, str]) -> None:
        self.directory = directory
        self.columns = columns_of(fields, f"jsonl sink {str(directory)!r}")

    @property
    def params(self) -> Mapping[str, object]:
        return {"columns": {column.name: column.type.value for column in self.columns}}

    def create_writer(self) -> TextWriter:
        """A writer for one subtask."""
        layout = RowLayout(self.columns, f"jsonl sink {str(self.directory)!r}")
        return TextWriter(self.directory, "jsonl", layout, self._begin)

    def _begin(self, file: TextIO) -> WriteRow:
        names, write = [column.name for column in self.columns], file.write

        def write_row(row: tuple[object, ...]) -> object:
            try:
                return write(_ENCODE(dict(zip(names, row, strict=True))) + "\n")
            except ValueError:
                told = ", ".join(f"{name} = {cell!r:.60}" for name, cell in zip(names, row, strict=True))
                raise ValueNotAllowed(
                    f"jsonl sink {str(self.directory)!r}: JSON has no number for NaN and infinity: {told}"
                ) from None

        return write_row
