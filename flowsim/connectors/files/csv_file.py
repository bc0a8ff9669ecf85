"""Reads a CSV file block by block into plain tuples, fast and in bounded memory."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from flowsim.connectors.files.arrow_values import arrow_values
from flowsim.connectors.files.columns import Column, ColumnType, Rows
from flowsim.connectors.files.csv_diagnosis import (
    check_quotes,
    explain_failure,
    find_cell,
    first_wrong_field,
    has_rows,
    header_of,
    line_of_row,
)
from flowsim.connectors.files.input_file import InputFile, input_file_of
from flowsim.errors import BadInput, did_you_mean
from flowsim.recording.parquet_part import as_numpy

ROWS_AT_ONCE: Final = 4096
"""Rows per block. Measured on the flights file: larger blocks are not faster; memory is a small multiple of a block."""

_SCANNED_BYTES: Final = 1 << 20
_INTEGERS: Final = (ColumnType.INT, ColumnType.LONG)
_MAX_GROUPS: Final = 10_000
_DELIMITERS: Final = ";\t|,"
_NAMES_LISTED: Final = 100
_CHARS_LISTED: Final = 100

ARROW_TYPES: Final[dict[ColumnType, pa.DataType]] = {
    ColumnType.STRING: pa.string(),
    ColumnType.INT: pa.int32(),
    ColumnType.LONG: pa.int64(),
    ColumnType.DOUBLE: pa.float64(),
    ColumnType.BOOLEAN: pa.bool_(),
}


class CsvFile:
    """A CSV file (``.gz`` too) with a header line, read as declared columns.

    An empty field is ``''`` in a string column and None in a column of another type. No other text means None. Fields
    may be quoted with ``"`` and contain line ends. A row is a tuple of the declared columns, in declared order.
    ``rows`` limits the number of rows; None: all rows.
    """

    def __init__(
        self, path: str | Path | InputFile, columns: Sequence[Column], delimiter: str = ",", rows: int | None = None
    ) -> None:
        self.file: InputFile = input_file_of(path)
        self.path: str = str(self.file.path)
        self.columns: tuple[Column, ...] = tuple(columns)
        self.delimiter: str = delimiter
        self.rows: int | None = rows
        self._is_hexadecimal: bool | None = None
        """Whether the content may have hexadecimal integers; None until it is known."""

    def check(self) -> None:
        """Raises BadInput if the file cannot be read or lacks a declared column; names the most similar column."""
        header = header_of(self.file, self.delimiter)
        missing = [column.name for column in self.columns if column.name not in header]
        if missing:
            names = ", ".join(repr(name) + did_you_mean(name, header, is_listed=True) for name in missing)
            other = next((letter for letter in _DELIMITERS if len(header) == 1 and letter in header[0]), None)
            advice = "" if other is None else f"; if {other!r} separates the fields, set it as delimiter"
            raise BadInput(f"{self.path}:1:1 no column {names}; the header has: {_listed(header)}{advice}")
        doubled = [column.name for column in self.columns if header.count(column.name) > 1]
        if doubled:
            raise BadInput(f"{self.path}:1:1 the header has column {doubled[0]!r} more than once")

    def blocks(self, first_row: int = 0) -> Iterator[Rows]:
        """Yields blocks of rows in file order, from row ``first_row`` on, counted from 0.

        Raises BadInput ``file:line:column`` at the first field that does not match its declared type.
        """
        self.check()
        for batch in self._batches(self.columns):
            before = min(first_row, batch.num_rows)
            first_row -= before
            for start in range(before, batch.num_rows, ROWS_AT_ONCE):
                yield _rows(batch.slice(start, ROWS_AT_ONCE))

    def kept_blocks(
        self, name: str, values: Sequence[object], first_row: int = 0
    ) -> Iterator[tuple[Rows, Sequence[int]]]:
        """Yields the rows that have one of the values in a column, and the position of each of them in the file."""
        self.check()
        kept_values = None
        before = 0
        for batch in self._batches(self.columns):
            chosen = batch.column(name)
            if kept_values is None:
                kept_values = pa.array(values, chosen.type)
            mask = pc.is_in(chosen, value_set=kept_values)
            positions = as_numpy(pa.chunked_array([pc.indices_nonzero(mask)])) + before
            kept = batch.filter(mask)
            before += batch.num_rows
            skipped = bisect_left(positions, first_row)
            for start in range(skipped, kept.num_rows, ROWS_AT_ONCE):
                yield _rows(kept.slice(start, ROWS_AT_ONCE)), positions[start : start + ROWS_AT_ONCE]

    def place_of_row(self, row: int) -> str | None:
        """``file:line`` of a row, counted from 0; None if the file has changed. Reads the file."""
        with suppress(BadInput, OSError):
            line = line_of_row(self.file, self.delimiter, row)
            return f"{self.file.path.name}:{line}" if line else None
        return None

    def distinct(self, name: str) -> list[object]:
        """Returns the distinct values of one column, sorted, None first; at most 10,000. Reads the whole file once."""
        self.check()
        values: dict[object, None] = {}
        for batch in self._batches([column for column in self.columns if column.name == name]):
            values.update(dict.fromkeys(batch.column(0).unique().to_pylist()))
            if len(values) > _MAX_GROUPS:
                raise BadInput(f"{self.path}: column {name!r} has more than {_MAX_GROUPS} values; declare the groups")
        return sorted(values, key=_none_first)

    def require_values(self, name: str, allowed: Sequence[object]) -> None:
        """Raises BadInput ``file:line:column`` at the first row whose value in a column is not in ``allowed``."""
        unknown = [value for value in self.distinct(name) if value not in allowed]
        if unknown:
            where = find_cell(self.file, self.delimiter, name, "" if unknown[0] is None else str(unknown[0]))
            raise BadInput(f"{where} column {name!r}: value {unknown[0]!r} belongs to no declared group")

    def _batches(self, columns: Sequence[Column]) -> Iterator[pa.RecordBatch]:
        # Arrow reads rows that are not longer than a block.
        block_bytes = self.file.limits.row_bytes
        is_checked = False
        try:
            if any(column.type in _INTEGERS for column in columns) and self._has_hexadecimal():
                self._check_cells(columns)
                is_checked = True
            with (
                self.file.open() as content,
                pacsv.open_csv(
                    pa.PythonFile(content, mode="r"),
                    read_options=pacsv.ReadOptions(use_threads=False, block_size=block_bytes),
                    parse_options=pacsv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
                    convert_options=convert_options(columns),
                ) as reader,
            ):
                for batch in reader if self.rows is None else first_rows(reader, self.rows):
                    if not is_checked and any(map(_has_infinity, batch.columns)):
                        self._check_cells(columns)
                        is_checked = True
                    yield batch
            if content.quotes % 2:
                check_quotes(self.file, self.delimiter)
        except (pa.ArrowInvalid, OSError) as error:
            if not isinstance(error, OSError) and not has_rows(self.file, self.delimiter):
                return  # Arrow refuses a header line without a line end
            raise explain_failure(self.file, self.delimiter, columns, _is_valid, error) from None

    def _has_hexadecimal(self) -> bool:
        """Returns True if the content has a text such as 0x1f, which Arrow takes for an integer. Reads the file once."""
        if self._is_hexadecimal is None:
            self._is_hexadecimal = False
            last = b""
            with self.file.open() as content:
                while block := content.read(_SCANNED_BYTES):
                    if b"0x" in block or b"0X" in block or (last + block[:1]).lower() == b"0x":
                        self._is_hexadecimal = True
                        break
                    last = block[-1:]
        return self._is_hexadecimal

    def _check_cells(self, columns: Sequence[Column]) -> None:
        """Raises BadInput at the first field of these columns that is no value of its type. Reads the whole file."""
        problem = first_wrong_field(self.file, self.delimiter, columns, _is_valid, self.rows)
        if problem is not None:
            raise BadInput(problem)


def _has_infinity(column: pa.Array) -> bool:
    return pa.types.is_floating(column.type) and bool(pc.any(pc.is_inf(column)).as_py())


def _listed(header: Sequence[str]) -> str:
    """Lists names for a message, without control characters."""
    shown = [name if name.isprintable() else ascii(name)[1:-1] for name in header[:_NAMES_LISTED]]
    more = len(header) - _NAMES_LISTED
    names = ", ".join(name if len(name) <= _CHARS_LISTED else f"{name[:_CHARS_LISTED]}..." for name in shown)
    return names if more <= 0 else f"{names} and {more} more"


def first_rows(batches: Iterable[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    """Yields the batches up to this number of rows; later batches are not read."""
    for batch in batches:
        if rows <= 0:
            return
        yield batch.slice(0, rows)
        rows -= batch.num_rows


def convert_options(columns: Sequence[Column]) -> pacsv.ConvertOptions:
    """Returns the texts that each type accepts; both reading and diagnosis use them."""
    return pacsv.ConvertOptions(
        column_types={column.name: ARROW_TYPES[column.type] for column in columns},
        include_columns=[column.name for column in columns],
        null_values=[""],
        strings_can_be_null=False,
    )


def _is_valid(text: str, column_type: ColumnType) -> bool:
    """Returns True if Arrow takes the text, and flowsim too: no hexadecimal integer, no number beyond the doubles."""
    column = Column("v", column_type)
    if column_type in _INTEGERS and "x" in text.lower():
        return False
    quoted = text.replace('"', '""').encode("utf-8", "surrogateescape")
    try:
        read = pacsv.read_csv(
            pa.BufferReader(b'v\n"' + quoted + b'"\n'),
            read_options=pacsv.ReadOptions(use_threads=False, block_size=len(quoted) + 16),
            parse_options=pacsv.ParseOptions(newlines_in_values=True),
            convert_options=convert_options([column]),
        )
    except pa.ArrowInvalid:
        return False
    return not (any(map(str.isdigit, text)) and any(map(_has_infinity, read.column(0).chunks)))


def _rows(batch: pa.RecordBatch) -> Rows:
    return list(zip(*(arrow_values(column) for column in batch.columns), strict=True))


def _none_first(value: object) -> tuple[bool, object]:
    return (value is not None, value)
