"""Sinks that write text files: CSV and JSON Lines."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Final, TextIO

from flowsim.connectors.files.part_files import FileSink, WriteRow
from flowsim.errors import ValueNotAllowed


class TextPart:
    """A file of UTF-8 text. ``begin`` gets the open file and returns the function that writes a row."""

    def __init__(self, path: Path, begin: Callable[[TextIO], WriteRow]) -> None:
        self._file = path.open("w", encoding="utf-8", newline="")
        self.write_row = begin(self._file)

    def finish(self) -> None:
        """Does nothing: ``close`` writes what the file's buffer holds."""

    def close(self) -> None:
        self._file.close()


class CsvSink(FileSink):
    """Writes each subtask's rows, with a header line, to CSV files in the sink's folder.

    None becomes an empty field, a boolean ``true`` or ``false``; lines end with ``\\n``; text is UTF-8.
    """

    kind = "csv"

    def _open_part(self, path: Path) -> TextPart:
        return TextPart(path, self._begin)

    def _begin(self, file: TextIO) -> WriteRow:
        write = csv.writer(file, lineterminator="\n").writerow
        write([column.name for column in self.columns])
        return lambda row: write([_BOOLEANS[field] if type(field) is bool else field for field in row])


_BOOLEANS = {True: "true", False: "false"}

_ENCODE: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


class JsonLinesSink(FileSink):
    """Writes each subtask's rows as JSON objects, one per line, to ``.jsonl`` files in the sink's folder.

    Keys are the fields in declared order, None is null. JSON has no infinite doubles or NaN: they raise
    ValueNotAllowed.
    """

    kind = "jsonl"

    def _open_part(self, path: Path) -> TextPart:
        return TextPart(path, self._begin)

    def _begin(self, file: TextIO) -> WriteRow:
        names, write = [column.name for column in self.columns], file.write

        def write_row(row: tuple[object, ...]) -> object:
            try:
                return write(_ENCODE(dict(zip(names, row, strict=True))) + "\n")
            except ValueError:
                fields = ", ".join(f"{name} = {cell!r:.60}" for name, cell in zip(names, row, strict=True))
                raise ValueNotAllowed(
                    f"jsonl sink {str(self.directory)!r}: JSON has no number for NaN and infinity: {fields}"
                ) from None

        return write_row
