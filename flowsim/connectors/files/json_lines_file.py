"""Reads a file with one JSON object per line into plain tuples."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Final

from flowsim.connectors.files.columns import Column, ColumnType, Rows, reason_of
from flowsim.connectors.files.csv_diagnosis import problem_of_text
from flowsim.connectors.files.input_file import InputFile, input_file_of
from flowsim.errors import BadInput, SourcePosition

BLOCK_CHARS: Final = 1 << 18
_FIRST_CHARS: Final = 1000


class JsonLinesFile:
    """A file (``.gz`` too) with a JSON object on each line, read as declared columns; blank lines are skipped.

    A missing or null key is None in every column; other keys are ignored. A double column also accepts whole numbers.
    """

    def __init__(self, path: str | Path | InputFile, columns: Sequence[Column]) -> None:
        self.file: InputFile = input_file_of(path)
        self.path: str = str(self.file.path)
        self.columns = tuple(columns)

    def check(self) -> None:
        """Raises BadInput if the file cannot be read. Keys are checked while reading."""
        try:
            with self.file.open_text() as lines:
                problem = problem_of_text(lines.readline()[:_FIRST_CHARS])
        except OSError as error:
            raise BadInput(f"{self.path}: cannot be read: {reason_of(error)}") from None
        if problem is not None:
            raise BadInput(f"{self.path}:1:1 expected a JSON object in each line, got {problem}")

    def blocks(self, first_row: int = 0) -> Iterator[Rows]:
        """Yields blocks of rows in file order, from row ``first_row`` on, counted from 0.

        Raises BadInput with ``file:line:column`` at a line without such an object.
        """
        number = 0
        try:
            with self.file.open_text(errors="strict") as opened:
                while lines := opened.readlines(BLOCK_CHARS):
                    numbered = enumerate(lines, number + 1)
                    number += len(lines)
                    rows = [(text, at) for at, text in numbered if not text.isspace()]
                    skipped = min(first_row, len(rows))
                    first_row -= skipped
                    yield [self._row(text, at) for text, at in rows[skipped:]]
        except UnicodeDecodeError:
            raise self._not_text() from None
        except OSError as error:
            raise BadInput(f"{self.path}: cannot be read to its end: {reason_of(error)}") from None

    def place_of_row(self, row: int) -> str | None:
        """``file:line`` of row ``row``, counted from 0; None if the file has changed. Reads the file."""
        with suppress(BadInput, OSError), self.file.open_text() as lines:
            rows = (number for number, text in enumerate(lines, 1) if not text.isspace())
            line = next(islice(rows, row, None), None)
            return None if line is None else f"{self.file.path.name}:{line}"
        return None

    def _not_text(self) -> BadInput:
        """Creates the error for a file that is not UTF-8, at the first invalid line."""
        with self.file.open_text() as lines:
            for number, text in enumerate(lines, 1):
                column = next((at for at, letter in enumerate(text, 1) if "\udc80" <= letter <= "\udcff"), 0)
                if column:
                    where = SourcePosition(self.path, number, column)
                    return BadInput(
                        f"{where} expected UTF-8 text, got {text[column - 1 :][:20]!a}: convert the file to UTF-8"
                    )
        return BadInput(f"{self.path}: expected UTF-8 text: convert the file to UTF-8")

    def _row(self, text: str, number: int) -> tuple[object, ...]:
        where = SourcePosition(self.path, number, 1)
        try:
            parsed = json.loads(text.rstrip(), parse_constant=_no_constant)
        except json.JSONDecodeError as error:
            where = SourcePosition(self.path, number, error.colno)
            raise BadInput(f"{where} invalid JSON: {error.msg}: expected one JSON object in each line") from None
        except _NoSuchNumber as error:
            raise BadInput(f"{where} invalid JSON: {error}: write null or a number") from None
        except RecursionError:
            raise BadInput(f"{where} invalid JSON: its brackets are nested too deeply: write a flat object") from None
        except ValueError:
            raise BadInput(f"{where} invalid JSON: a number has too many digits: write it as text") from None
        if not isinstance(parsed, dict):
            raise BadInput(
                f'{where} expected an object such as {{"{self.columns[0].name}": ...}}, got {text.strip()[:40]}'
            )
        cells = tuple([parsed.get(column.name) for column in self.columns])
        return self._checked(cells, text, number)

    def _checked(self, cells: tuple[object, ...], text: str, number: int) -> tuple[object, ...]:
        checked: list[object] = []
        for cell, column in zip(cells, self.columns, strict=True):
            if cell is None:
                checked.append(cell)
                continue
            value = _as_double(cell) if column.type is ColumnType.DOUBLE else cell
            # Python's parser takes a number beyond the doubles for infinity, which JSON does not have.
            if not column.type.holds(value) or value in (math.inf, -math.inf):
                raise BadInput(
                    f"{SourcePosition(self.path, number, _column_of(column.name, text))} key {column.name!r}: "
                    f"expected {column.type.expects} or null, got {json.dumps(cell)[:60]}"
                )
            checked.append(value)
        return tuple(checked)


def _as_double(cell: object) -> object:
    """Returns the number as a double, because JSON writers shorten a double to a whole number."""
    try:
        return float(cell) if type(cell) is int else cell
    except OverflowError:
        return cell


class _NoSuchNumber(Exception):
    """Raised for NaN and Infinity, which Python's parser accepts and JSON does not allow."""


def _no_constant(text: str) -> object:
    raise _NoSuchNumber(f"JSON has no {text}")


def _column_of(name: str, text: str) -> int:
    """Returns the column where a key's value starts, counted from 1.

    A nested key of the same name may be found instead.
    """
    match = re.search(re.escape(json.dumps(name)) + r"\s*:\s*", text)
    return 1 if match is None else match.end() + 1
