"""Sinks that write text files, one part per subtask: CSV and JSON Lines. Flink: FileSink."""

from __future__ import annotations

import csv
import json
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, TextIO

from flowsim.connectors.files.columns import Column, RowLayout, columns_of
from flowsim.errors import ValueNotAllowed
from flowsim.operators.sink import InitContext

WriteRow = Callable[[tuple[object, ...]], object]


class TextWriter:
    """Writes one part file as UTF-8 text. ``begin`` gets the open file and returns the function that writes a row."""

    def __init__(
        self,
        directory: str | Path,
        suffix: str,
        layout: RowLayout,
        begin: Callable[[TextIO], WriteRow],
        context: InitContext,
    ) -> None:
        self._layout = layout
        self._is_complete = False
        self._part = PartFile(directory, suffix, context.subtask_index, context.parallelism)
        self._file = self._part.growing.open("w", encoding="utf-8", newline="")
        self._write_row = begin(self._file)

    def write(self, value: object, timestamp: int | None) -> None:
        self._write_row(self._layout.row(value))

    def flush(self, end_of_input: bool) -> None:
        """Accepts the end of the input: no more rows follow."""
        self._is_complete = end_of_input

    def close(self) -> None:
        self._file.close()
        self._part.close(self._is_complete)


class PartFile:
    """``part-<subtask>.<suffix>`` in a folder that belongs to one sink.

    While the file is written its name is ``.part-<subtask>.<suffix>.inprogress``. Opening the folder removes parts of
    the same suffix from an earlier run, so a folder never mixes two runs.
    """

    def __init__(self, directory: str | Path, suffix: str, subtask_index: int, parallelism: int) -> None:
        folder = Path(directory)
        self.final = folder / f"part-{subtask_index}.{suffix}"
        self.growing = folder / f".part-{subtask_index}.{suffix}.inprogress"
        folder.mkdir(parents=True, exist_ok=True)
        self.final.unlink(missing_ok=True)
        if subtask_index == 0:
            _remove_beyond(folder, suffix, parallelism)

    def close(self, is_complete: bool) -> None:
        """Publishes a complete file, or removes an incomplete file."""
        if is_complete:
            os.replace(self.growing, self.final)
        else:
            self.growing.unlink(missing_ok=True)


def _remove_beyond(folder: Path, suffix: str, parallelism: int) -> None:
    of_a_sink = re.compile(rf"\.?part-(\d+)\.{re.escape(suffix)}(\.inprogress)?")
    for path in sorted(folder.iterdir()):
        found = of_a_sink.fullmatch(path.name)
        if found is not None and int(found.group(1)) >= parallelism:
            path.unlink()


class CsvSink:
    """Writes each subtask's rows, with a header line, to ``part-<subtask>.csv`` in the sink's folder.

    None becomes an empty field, a boolean ``true`` or ``false``; lines end with ``\\n``; text is UTF-8.
    """

    kind = "csv"

    def __init__(self, directory: str | Path, fields: Mapping[str, str]) -> None:
        self.directory = directory
        self.columns: tuple[Column, ...] = columns_of(fields, f"csv sink {str(directory)!r}")

    @property
    def params(self) -> Mapping[str, object]:
        return {"columns": {column.name: column.type.value for column in self.columns}}

    def create_writer(self, context: InitContext) -> TextWriter:
        """Creates a writer for one subtask."""
        layout = RowLayout(self.columns, f"csv sink {str(self.directory)!r}")
        return TextWriter(self.directory, "csv", layout, self._begin, context)

    def _begin(self, file: TextIO) -> WriteRow:
        write = csv.writer(file, lineterminator="\n").writerow
        write([column.name for column in self.columns])
        return lambda row: write([_BOOLEANS[field] if type(field) is bool else field for field in row])


_BOOLEANS = {True: "true", False: "false"}

_ENCODE: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


class JsonLinesSink:
    """Writes each subtask's rows as JSON objects, one per line, to ``part-<subtask>.jsonl`` in the sink's folder.

    Keys are the fields in declared order, None is null. JSON has no infinite doubles or NaN: they raise
    ValueNotAllowed.
    """

    kind = "jsonl"

    def __init__(self, directory: str | Path, fields: Mapping[str, str]) -> None:
        self.directory = directory
        self.columns: tuple[Column, ...] = columns_of(fields, f"jsonl sink {str(directory)!r}")

    @property
    def params(self) -> Mapping[str, object]:
        return {"columns": {column.name: column.type.value for column in self.columns}}

    def create_writer(self, context: InitContext) -> TextWriter:
        """Creates a writer for one subtask."""
        layout = RowLayout(self.columns, f"jsonl sink {str(self.directory)!r}")
        return TextWriter(self.directory, "jsonl", layout, self._begin, context)

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
