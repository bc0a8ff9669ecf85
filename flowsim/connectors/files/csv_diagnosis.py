"""Finds the invalid field of a CSV file, so that an error can name ``file:line:column``."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, TextIO

from flowsim.connectors.files.columns import Column, ColumnType
from flowsim.errors import BadInput, SourcePosition

IsValid = Callable[[str, ColumnType], bool]

_SHOWN_CHARS: Final = 60

# Texts that are certainly valid; all other texts go to the real converter.
_SURELY_FINE: Final[dict[ColumnType, re.Pattern[str]]] = {
    ColumnType.STRING: re.compile(r"[^\ud800-\udfff]*", re.DOTALL),
    ColumnType.INT: re.compile(r"-?\d{1,9}|", re.ASCII),
    ColumnType.LONG: re.compile(r"-?\d{1,18}|", re.ASCII),
    ColumnType.DOUBLE: re.compile(r"-?\d{1,15}(\.\d{1,15})?|", re.ASCII),
    ColumnType.BOOLEAN: re.compile(r"true|false|"),
}


@dataclass(frozen=True, slots=True)
class Cell:
    """The text of one field and its start position, both counted from 1."""

    text: str
    line: int
    column: int


def header_of(path: str, delimiter: str) -> list[str]:
    """Names in the first line; raises BadInput if the file cannot be read or is empty."""
    try:
        with open_text(path) as lines:
            for record in _records(lines, delimiter):
                return [cell.text for cell in record]
    except (OSError, EOFError) as error:
        raise BadInput(f"{path}: cannot be read: {_reason(error)}") from None
    raise BadInput(f"{path}:1:1 the file is empty; expected a header line with column names")


def find_cell(path: str, delimiter: str, name: str, text: str) -> SourcePosition:
    """The first position of ``text`` in the column; the header if no field has this spelling."""
    with open_text(path) as lines:
        records = _records(lines, delimiter)
        index = [cell.text for cell in next(records)].index(name)
        for record in records:
            if record[index].text == text:
                return SourcePosition(path, record[index].line, record[index].column)
    return SourcePosition(path, 1, 1)


def position_of(path: str, delimiter: str, name: str, row: int) -> SourcePosition:
    """The position of the column in row ``row``, counted from 0 after the header."""
    with open_text(path) as lines:
        records = _records(lines, delimiter)
        index = [cell.text for cell in next(records)].index(name)
        cell = next(islice(records, row, None))[index]
    return SourcePosition(path, cell.line, cell.column)


def explain_failure(
    path: str, delimiter: str, columns: Sequence[Column], is_valid: IsValid, error: Exception
) -> BadInput:
    """The BadInput for a failed read: the first field of a wrong type or the first row of a wrong length."""
    try:
        with open_text(path) as lines:
            found = _first_fault(_records(lines, delimiter), path, columns, is_valid)
    except (OSError, EOFError) as unreadable:
        return BadInput(f"{path}: cannot be read to its end: {_reason(unreadable)}")
    return BadInput(found if found is not None else f"{path}: {_reason(error)}")


def _first_fault(records: Iterator[list[Cell]], path: str, columns: Sequence[Column], is_valid: IsValid) -> str | None:
    header = [cell.text for cell in next(records)]
    checks = [(header.index(column.name), column, _SURELY_FINE[column.type].fullmatch) for column in columns]
    for record in records:
        if len(record) != len(header):
            where = SourcePosition(path, record[0].line, record[0].column)
            return f"{where} expected {len(header)} fields as in the header, got {len(record)}"
        for index, column, surely_fine in checks:
            cell = record[index]
            if surely_fine(cell.text) is None and not is_valid(cell.text, column.type):
                where = SourcePosition(path, cell.line, cell.column)
                expected = "UTF-8 text" if column.type is ColumnType.STRING else f"{column.type.expects} or nothing"
                return f"{where} column {column.name!r}: expected {expected}, got {_shown(cell.text)}"
    return None


def _records(lines: TextIO, delimiter: str) -> Iterator[list[Cell]]:
    """Records with the position of every field; blank lines are skipped."""
    number = 0
    for text in lines:
        number += 1
        if not text.strip("\r\n"):
            continue
        if '"' not in text:
            yield _plain_cells(text.rstrip("\r\n"), number, delimiter)
            continue
        first = number
        while text.count('"') % 2:
            continued = lines.readline()
            if not continued:
                break
            number += 1
            text += continued
        yield _quoted_cells(text.rstrip("\r\n"), first, delimiter)


def _plain_cells(text: str, line: int, delimiter: str) -> list[Cell]:
    cells = []
    column = 1
    for field in text.split(delimiter):
        cells.append(Cell(field, line, column))
        column += len(field) + 1
    return cells


def _quoted_cells(text: str, line: int, delimiter: str) -> list[Cell]:
    cells = []
    line_start = 0
    start, start_line, start_column = 0, line, 1
    inside = False
    for at, letter in enumerate(text + delimiter):
        if letter == '"':
            inside = not inside
        elif letter == "\n" and inside:
            line += 1
            line_start = at + 1
        elif letter == delimiter and not inside:
            cells.append(Cell(_unquoted(text[start:at]), start_line, start_column))
            start, start_line, start_column = at + 1, line, at + 2 - line_start
    return cells


def _unquoted(field: str) -> str:
    if len(field) >= 2 and field[0] == field[-1] == '"':
        return field[1:-1].replace('""', '"')
    return field


def open_text(path: str) -> TextIO:
    """Opens a text file, or one in a ``.gz``."""
    opened = gzip.open if path.endswith(".gz") else open
    # Surrogates keep bytes that are not UTF-8 visible to the checks; an exception would end the scan.
    return opened(path, "rt", encoding="utf-8-sig", errors="surrogateescape", newline="")


def _shown(text: str) -> str:
    cut = text if len(text) <= _SHOWN_CHARS else text[:_SHOWN_CHARS] + "..."
    return repr(cut)


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return (str(error) or type(error).__name__).splitlines()[0]
