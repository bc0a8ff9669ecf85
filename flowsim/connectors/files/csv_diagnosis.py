"""Finds the invalid field of a CSV file, so that an error can name ``file:line:column``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from flowsim.connectors.files.columns import Column, ColumnType, reason_of
from flowsim.connectors.files.input_file import InputFile
from flowsim.errors import BadInput, SourcePosition
from flowsim.limits import to_raise
from flowsim.quantities import count_text

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


def header_of(file: InputFile, delimiter: str) -> list[str]:
    """Returns the names in the first line.

    Raises BadInput if the file cannot be read or its header is missing or not text.
    """
    try:
        for record in _records(file, delimiter):
            return _checked_header(file, record)
    except OSError as error:
        raise BadInput(f"{file.path}: cannot be read: {reason_of(error)}") from None
    raise BadInput(f"{file.path}:1:1 the file is empty; expected a header line with column names")


def _checked_header(file: InputFile, record: list[Cell]) -> list[str]:
    for cell in record:
        problem = problem_of_text(cell.text)
        if problem is not None:
            where = SourcePosition(str(file.path), cell.line, cell.column)
            raise BadInput(f"{where} expected a header line with column names, got {problem}")
    return [cell.text for cell in record]


def problem_of_text(text: str) -> str | None:
    """Describes why ``text``, read with surrogates, is not valid text; None if it is valid."""
    if text.startswith(("\udcff\udcfe", "\udcfe\udcff")):
        return "UTF-16: convert the file to UTF-8"
    if any("\udc80" <= letter <= "\udcff" for letter in text):
        return f"bytes that are not UTF-8, {_shown(text)}: convert the file to UTF-8"
    if "\0" in text:
        return f"NUL bytes, {_shown(text[:10])}: this is not a text file"
    return None


def find_cell(file: InputFile, delimiter: str, name: str, text: str) -> SourcePosition:
    """Returns the first position of ``text`` in the column; the position of the header if no field has this text."""
    records = _records(file, delimiter)
    index = [cell.text for cell in next(records)].index(name)
    for record in records:
        if record[index].text == text:
            return SourcePosition(str(file.path), record[index].line, record[index].column)
    return SourcePosition(str(file.path), 1, 1)


def position_of(file: InputFile, delimiter: str, name: str, row: int) -> SourcePosition:
    """Returns the position of the column's field in row ``row``, counted from 0 after the header."""
    records = _records(file, delimiter)
    index = [cell.text for cell in next(records)].index(name)
    cell = next(islice(records, row, None))[index]
    return SourcePosition(str(file.path), cell.line, cell.column)


def explain_failure(
    file: InputFile, delimiter: str, columns: Sequence[Column], is_valid: IsValid, error: Exception
) -> BadInput:
    """Returns the BadInput for a failed read; names the first field of a wrong type or row of a wrong length."""
    try:
        found = _first_fault(_records(file, delimiter), str(file.path), columns, is_valid)
    except OSError as unreadable:
        return BadInput(f"{file.path}: cannot be read to its end: {reason_of(unreadable)}")
    except BadInput as fault:
        return fault
    return BadInput(found if found is not None else f"{file.path}: {reason_of(error)}")


def check_quotes(file: InputFile, delimiter: str) -> None:
    """Raises BadInput at a quote that is never closed.

    Without this check, Arrow reads the rest of the file as one field.
    """
    for _ in _records(file, delimiter):
        """Reads the file."""


def _first_fault(records: Iterator[list[Cell]], path: str, columns: Sequence[Column], is_valid: IsValid) -> str | None:
    header = [cell.text for cell in next(records)]
    checks = [(header.index(column.name), column, _SURELY_FINE[column.type].fullmatch) for column in columns]
    for record in records:
        if len(record) != len(header):
            where = SourcePosition(path, record[0].line, record[0].column)
            return (
                f"{where} expected {count_text(len(header), 'field')} as in the header, got {len(record)}: "
                "correct the row, or quote fields that contain the delimiter"
            )
        for index, column, surely_fine in checks:
            cell = record[index]
            if surely_fine(cell.text) is None and not is_valid(cell.text, column.type):
                where = SourcePosition(path, cell.line, cell.column)
                is_text = column.type is ColumnType.STRING
                expected = "UTF-8 text" if is_text else f"{column.type.expects} or nothing"
                advice = ": convert the file to UTF-8" if is_text else ""
                return f"{where} column {column.name!r}: expected {expected}, got {_shown(cell.text)}{advice}"
    return None


def first_wrong_field(
    file: InputFile, delimiter: str, columns: Sequence[Column], is_valid: IsValid, rows: int | None
) -> str | None:
    """Describes the first field of a wrong type, or row of a wrong length, in the first ``rows`` rows (None: in all)."""
    records = islice(_records(file, delimiter), None if rows is None else rows + 1)
    return _first_fault(records, str(file.path), columns, is_valid)


def has_rows(file: InputFile, delimiter: str) -> bool:
    """Returns True if a row follows the header."""
    return line_of_row(file, delimiter, 0) > 0


def line_of_row(file: InputFile, delimiter: str, row: int) -> int:
    """The first line of row ``row``, counted from 0 after the header; 0 if there is no such row."""
    return next(islice(_rows(file, delimiter), row + 1, None), (0, ""))[0]


def _records(file: InputFile, delimiter: str) -> Iterator[list[Cell]]:
    """Yields records with the position of every field. Raises BadInput beyond the limits."""
    for line, text in _rows(file, delimiter):
        if text.count(delimiter) >= file.limits.columns:
            where = SourcePosition(str(file.path), line, 1)
            raise BadInput(f"{where} expected at most {count_text(file.limits.columns, 'field')} {to_raise('columns')}")
        yield _cells(text.rstrip("\r\n"), line, delimiter)


def _rows(file: InputFile, delimiter: str) -> Iterator[tuple[int, str]]:
    """Yields the first line and the text of every record; blank lines are skipped."""
    limits = file.limits
    number = 0
    with file.open_text() as lines:
        for text in lines:
            number += 1
            if not text.strip("\r\n"):
                continue
            first = number
            if is_open(text, delimiter):
                parts, size, inside = [text], len(text), True
                while inside:
                    part = lines.readline()
                    where = SourcePosition(str(file.path), first, 1)
                    if not part:
                        raise BadInput(f"{where} the row has a quote that is never closed: close it, or double it")
                    size += len(part)
                    if size > limits.row_bytes:
                        raise BadInput(
                            f"{where} expected a row of at most {limits.row_bytes} bytes "
                            f"{to_raise('row_bytes')}; is one of its quotes never closed?"
                        )
                    parts.append(part)
                    inside = is_open(part, delimiter, inside=True)
                    number += 1
                text = "".join(parts)
            yield first, text


def is_open(text: str, delimiter: str, *, inside: bool = False) -> bool:
    """Returns True if a line ends inside a quoted field. ``inside``: the line also begins inside a quoted field.

    As in Arrow, a quote opens a quoted field only at the start of a field, and a doubled quote does not close the
    field.
    """
    at = 0
    while True:
        if inside:
            at = _after_closing_quote(text, at)
            if not at:
                return True
            at = text.find(delimiter, at) + 1
            if not at:
                return False
        quote = text.find('"', at)
        if quote < 0:
            return False
        inside = quote == max(at, text.rfind(delimiter, at, quote) + 1)
        at = quote + 1 if inside else text.find(delimiter, quote) + 1
        if not at:
            return False


def _after_closing_quote(text: str, at: int) -> int:
    """Returns the index after the closing quote; 0 if the quoted field does not end in this text."""
    while True:
        quote = text.find('"', at)
        if quote < 0:
            return 0
        if text[quote + 1 : quote + 2] != '"':
            return quote + 1
        at = quote + 2


def _cells(text: str, line: int, delimiter: str) -> list[Cell]:
    cells = []
    at, column = 0, 1
    while True:
        closed = _after_closing_quote(text, at + 1) if text[at : at + 1] == '"' else at
        end = text.find(delimiter, closed)
        field = text[at:end] if end >= 0 else text[at:]
        cells.append(Cell(_unquoted(field), line, column))
        if end < 0:
            return cells
        lines = field.count("\n")
        line, column = line + lines, end - text.rfind("\n", 0, end) + 1 if lines else column + len(field) + 1
        at = end + 1


def _unquoted(field: str) -> str:
    if len(field) >= 2 and field[0] == '"':
        end = _after_closing_quote(field, 1)
        return field[1 : end - 1].replace('""', '"') + field[end:]
    return field


def _shown(text: str) -> str:
    cut = text if len(text) <= _SHOWN_CHARS else text[:_SHOWN_CHARS] + "..."
    return repr(cut)
