"""Finds the invalid field of a CSV file, so that an error can name ``file:line:column``."""

from __future__ import annotations

import csv
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Final, TextIO

from flowsim.connectors.files.columns import Column, ColumnType, reason_of
from flowsim.connectors.files.input_file import InputFile
from flowsim.errors import BadInput, SourcePosition
from flowsim.limits import Limits, to_raise
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
class Record:
    """The fields of a row, with the text and the first line from which ``csv`` read them."""

    fields: list[str]
    text: str
    line: int
    path: str
    delimiter: str

    def position(self, index: int = 0) -> SourcePosition:
        """Returns where a field begins.

        ``csv`` reports no columns. The field begins behind the first delimiter up to which ``csv`` reads one field more.
        """
        ends = [match.end() for match in re.finditer(re.escape(self.delimiter), self.text)] if index else []
        start = ends[bisect_left(ends, index + 1, key=self._fields_up_to)] if index else 0
        line = self.line + self.text.count("\n", 0, start)
        return SourcePosition(self.path, line, start - self.text.rfind("\n", 0, start))

    def _fields_up_to(self, end: int) -> int:
        return len(next(csv.reader([self.text[:end]], delimiter=self.delimiter)))


def header_of(file: InputFile, delimiter: str) -> list[str]:
    """Returns the names in the first line.

    Raises BadInput if the file cannot be read or its header is missing or not text.
    """
    try:
        for record in _records(file, delimiter):
            return _checked_header(record)
    except OSError as error:
        raise BadInput(f"{file.path}: cannot be read: {reason_of(error)}") from None
    raise BadInput(f"{file.path}:1:1 the file is empty; expected a header line with column names")


def _checked_header(record: Record) -> list[str]:
    for index, name in enumerate(record.fields):
        problem = problem_of_text(name)
        if problem is not None:
            raise BadInput(f"{record.position(index)} expected a header line with column names, got {problem}")
    return record.fields


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
    index = next(records).fields.index(name)
    for record in records:
        if record.fields[index] == text:
            return record.position(index)
    return SourcePosition(str(file.path), 1, 1)


def position_of(file: InputFile, delimiter: str, name: str, row: int) -> SourcePosition:
    """Returns the position of the column's field in row ``row``, counted from 0 after the header."""
    records = _records(file, delimiter)
    index = next(records).fields.index(name)
    return next(islice(records, row, None)).position(index)


def explain_failure(
    file: InputFile, delimiter: str, columns: Sequence[Column], is_valid: IsValid, error: Exception
) -> BadInput:
    """Returns the BadInput for a failed read; names the first field of a wrong type or row of a wrong length."""
    try:
        problem = _first_fault(_records(file, delimiter), columns, is_valid)
    except OSError as unreadable:
        return BadInput(f"{file.path}: cannot be read to its end: {reason_of(unreadable)}")
    except BadInput as fault:
        return fault
    return BadInput(f"{file.path}: {reason_of(error)}" if problem is None else problem)


def check_quotes(file: InputFile, delimiter: str) -> None:
    """Raises BadInput at a quote that is never closed.

    Without this check, Arrow reads the rest of the file as one field.
    """
    for _ in _records(file, delimiter):
        """Reads the file."""


def _first_fault(records: Iterator[Record], columns: Sequence[Column], is_valid: IsValid) -> str | None:
    header = next(records).fields
    checks = [(header.index(column.name), column, _SURELY_FINE[column.type].fullmatch) for column in columns]
    for record in records:
        if len(record.fields) != len(header):
            return (
                f"{record.position()} expected {count_text(len(header), 'field')} as in the header, "
                f"got {len(record.fields)}: correct the row, or quote fields that contain the delimiter"
            )
        for index, column, surely_fine in checks:
            text = record.fields[index]
            if surely_fine(text) is None and not is_valid(text, column.type):
                is_text = column.type is ColumnType.STRING
                expected = "UTF-8 text" if is_text else f"{column.type.expects} or nothing"
                advice = ": convert the file to UTF-8" if is_text else ""
                return (
                    f"{record.position(index)} column {column.name!r}: expected {expected}, got {_shown(text)}{advice}"
                )
    return None


def first_wrong_field(
    file: InputFile, delimiter: str, columns: Sequence[Column], is_valid: IsValid, rows: int | None
) -> str | None:
    """Describes the first field of a wrong type, or row of a wrong length, in the first ``rows`` rows (None: in all)."""
    records = islice(_records(file, delimiter), None if rows is None else rows + 1)
    return _first_fault(records, columns, is_valid)


def has_rows(file: InputFile, delimiter: str) -> bool:
    """Returns True if a row follows the header."""
    return line_of_row(file, delimiter, 0) > 0


def line_of_row(file: InputFile, delimiter: str, row: int) -> int:
    """The first line of row ``row``, counted from 0 after the header; 0 if there is no such row."""
    record = next(islice(_records(file, delimiter), row + 1, None), None)
    return 0 if record is None else record.line


def _records(file: InputFile, delimiter: str) -> Iterator[Record]:
    """Yields the header and the rows; blank lines are skipped. Raises BadInput beyond the limits.

    As in Arrow, a quote opens a quoted field only at the start of a field, and a doubled quote does not close the field.
    """
    path, limits = str(file.path), file.limits
    with file.open_text() as content, _fields_of_any_length():
        lines = _Lines(content, path, limits)
        for fields in csv.reader(lines, delimiter=delimiter):
            line, text = lines.take()
            if lines.is_at_end:
                raise BadInput(f"{path}:{line}:1 the row has a quote that is never closed: close it, or double it")
            if len(fields) > limits.columns:
                raise BadInput(
                    f"{path}:{line}:1 expected at most {count_text(limits.columns, 'field')} {to_raise('columns')}"
                )
            if fields:
                yield Record(fields, text, line, path, delimiter)


class _Lines:
    """Hands lines to ``csv``, and collects those of the row that it reads."""

    def __init__(self, content: TextIO, path: str, limits: Limits) -> None:
        self.is_at_end: bool = False
        """True once ``csv`` asked for a line after the last one: a row that it returns then has an open quote."""
        self._content = content
        self._path = path
        self._limit = limits.row_bytes
        self._before = 0
        self._parts: list[str] = []
        self._size = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        part = self._content.readline()
        if not part:
            self.is_at_end = True
            raise StopIteration
        self._parts.append(part)
        self._size += len(part)
        if self._size > self._limit and len(self._parts) > 1:
            raise BadInput(
                f"{self._path}:{self._before + 1}:1 expected a row of at most {self._limit} bytes "
                f"{to_raise('row_bytes')}; is one of its quotes never closed?"
            )
        return part

    def take(self) -> tuple[int, str]:
        """Returns the number of the first line and the text of the row that was read, and starts the next one."""
        line, text = self._before + 1, "".join(self._parts)
        self._before += len(self._parts)
        self._parts = []
        self._size = 0
        return line, text


@contextmanager
def _fields_of_any_length() -> Iterator[None]:
    """Lifts the limit that ``csv`` has for a field, 128 KiB in the whole process: rows have one of their own."""
    before = csv.field_size_limit(2**31 - 1)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _shown(text: str) -> str:
    cut = text if len(text) <= _SHOWN_CHARS else text[:_SHOWN_CHARS] + "..."
    return repr(cut)
