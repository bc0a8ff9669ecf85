"""Reads a file with one JSON object per line into plain tuples."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Final, TextIO

from flowsim.connectors.files.columns import Column, ColumnType, Rows, reason_of
from flowsim.errors import BadInput, SourcePosition

BLOCK_LINES: Final = 4096


class JsonLinesFile:
    """A file (``.gz`` too) with a JSON object on each line, read as declared columns; blank lines are skipped.

    A missing or null key is None in every column; other keys are ignored. A double column also accepts whole numbers.
    """

    def __init__(self, path: str | Path, columns: Sequence[Column]) -> None:
        self.path = str(path)
        self.columns = tuple(columns)

    def check(self) -> None:
        """Raises BadInput if the file cannot be read. Keys are checked while reading."""
        try:
            with self._open() as opened:
                opened.readline()
        except (OSError, EOFError, UnicodeDecodeError) as error:
            raise BadInput(f"{self.path}: cannot be read: {reason_of(error)}") from None

    def blocks(self) -> Iterator[Rows]:
        """Blocks of rows in file order; BadInput names ``file:line:column`` of a line that is not such an object."""
        number = 0
        try:
            with self._open() as opened:
                while lines := list(islice(opened, BLOCK_LINES)):
                    numbered = enumerate(lines, number + 1)
                    number += len(lines)
                    yield [self._row(text, at) for at, text in numbered if not text.isspace()]
        except UnicodeDecodeError as error:
            raise BadInput(f"{self.path}: expected UTF-8 text after line {number}: {error.reason}") from None
        except (OSError, EOFError) as error:
            raise BadInput(f"{self.path}: cannot be read to its end: {reason_of(error)}") from None

    def _row(self, text: str, number: int) -> tuple[object, ...]:
        try:
            found = json.loads(text.rstrip(), parse_constant=_no_constant)
        except json.JSONDecodeError as error:
            raise BadInput(f"{SourcePosition(self.path, number, error.colno)} invalid JSON: {error.msg}") from None
        except (_NoSuchNumber, RecursionError, ValueError) as error:
            raise BadInput(f"{SourcePosition(self.path, number, 1)} invalid JSON: {error}") from None
        if not isinstance(found, dict):
            raise BadInput(
                f"{SourcePosition(self.path, number, 1)} expected an object such as "
                f'{{"{self.columns[0].name}": ...}}, got {text.strip()[:40]}'
            )
        cells = tuple([found.get(column.name) for column in self.columns])
        return self._checked(cells, text, number)

    def _checked(self, cells: tuple[object, ...], text: str, number: int) -> tuple[object, ...]:
        checked: list[object] = []
        for cell, column in zip(cells, self.columns, strict=True):
            if cell is None:
                checked.append(cell)
                continue
            value = _as_double(cell) if column.type is ColumnType.DOUBLE else cell
            if not column.type.holds(value):
                raise BadInput(
                    f"{SourcePosition(self.path, number, _column_of(column.name, text))} key {column.name!r}: "
                    f"expected {column.type.expects} or null, got {json.dumps(cell)[:60]}"
                )
            checked.append(value)
        return tuple(checked)

    def _open(self) -> TextIO:
        opened = gzip.open if self.path.endswith(".gz") else open
        return opened(self.path, "rt", encoding="utf-8-sig")


def _as_double(cell: object) -> object:
    """JSON writers shorten a double to a whole number."""
    try:
        return float(cell) if type(cell) is int else cell
    except OverflowError:
        return cell


class _NoSuchNumber(Exception):
    """Python accepts NaN and Infinity, JSON does not."""


def _no_constant(text: str) -> object:
    raise _NoSuchNumber(f"JSON has no {text}")


def _column_of(name: str, text: str) -> int:
    """The start of a key's value, counted from 1; a nested key of the same name may be found instead."""
    found = re.search(re.escape(json.dumps(name)) + r"\s*:\s*", text)
    return 1 if found is None else found.end() + 1
