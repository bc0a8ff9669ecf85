"""Writes the rows of one sink subtask as lines of text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TextIO

from flowsim.connectors.part_file import PartFile
from flowsim.connectors.row_layout import RowLayout
from flowsim.operators.stream_operator import OperatorContext

WriteRow = Callable[[tuple[object, ...]], object]


class TextWriter:
    """Writes one part; ``begin`` is given the open file and answers what writes a row to it. Text is UTF-8."""

    def __init__(
        self, directory: str | Path, suffix: str, layout: RowLayout, begin: Callable[[TextIO], WriteRow]
    ) -> None:
        self._directory = directory
        self._suffix = suffix
        self._layout = layout
        self._begin = begin
        self._part: PartFile | None = None
        self._file: TextIO | None = None
        self._is_complete = False

    def open(self, ctx: OperatorContext) -> None:
        self._part = PartFile(self._directory, self._suffix, ctx.subtask_index, ctx.parallelism)
        self._file = self._part.growing.open("w", encoding="utf-8", newline="")
        self._write_row = self._begin(self._file)

    def write(self, value: object, timestamp: int | None) -> None:
        self._write_row(self._layout.row(value))

    def flush(self) -> None:
        """The input ended: what is there is all there will be."""
        self._is_complete = True

    def close(self) -> None:
        if self._file is None or self._part is None:
            return
        self._file.close()
        self._file = None
        self._part.close(self._is_complete)
