"""Reads a CSV file block by block into plain tuples, fast and in bounded memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from flowsim.connectors.files.columns import Column, ColumnType, Rows
from flowsim.connectors.files.csv_diagnosis import explain_failure, find_cell, header_of
from flowsim.errors import BadInput, did_you_mean

BLOCK_SIZE_BYTES: Final = 1 << 18
"""Measured on the flights file: larger blocks are not faster, and memory is a small multiple of this."""

_MAX_GROUPS: Final = 10_000

ARROW_TYPES: Final[dict[ColumnType, pa.DataType]] = {
    ColumnType.STRING: pa.string(),
    ColumnType.INT: pa.int32(),
    ColumnType.LONG: pa.int64(),
    ColumnType.DOUBLE: pa.float64(),
    ColumnType.BOOLEAN: pa.bool_(),
}


class CsvFile:
    """A CSV file (``.gz`` too) with a header line, read as declared columns.

    An empty field is ``''`` in a string column and None in every other; no other text means None. Fields may be quoted
    with ``"`` and contain line ends. A row is a tuple of the declared columns, in declared order. ``rows`` limits the
    number of rows; None: all.
    """

    def __init__(
        self, path: str | Path, columns: Sequence[Column], delimiter: str = ",", rows: int | None = None
    ) -> None:
        self.path = str(path)
        self.columns = tuple(columns)
        self.delimiter = delimiter
        self.rows = rows

    def check(self) -> None:
        """Raises BadInput if the file cannot be read or lacks a declared column; names the most similar column."""
        header = header_of(self.path, self.delimiter)
        missing = [column.name for column in self.columns if column.name not in header]
        if missing:
            names = ", ".join(repr(name) + did_you_mean(name, header, is_listed=True) for name in missing)
            raise BadInput(f"{self.path}:1:1 no column {names}; the header has: {', '.join(header)}")
        doubled = [column.name for column in self.columns if header.count(column.name) > 1]
        if doubled:
            raise BadInput(f"{self.path}:1:1 the header has column {doubled[0]!r} more than once")

    def blocks(self, keep: tuple[str, Sequence[object]] | None = None) -> Iterator[Rows]:
        """Blocks of rows in file order; with ``keep`` only rows whose column holds one of the values.

        Raises BadInput ``file:line:column`` at the first field that does not match its declared type.
        """
        self.check()
        wanted = None
        for batch in self._batches(self.columns):
            if keep is not None:
                chosen = batch.column(keep[0])
                if wanted is None:
                    wanted = pa.array(keep[1], chosen.type)
                batch = batch.filter(pc.is_in(chosen, value_set=wanted))
            if batch.num_rows:
                yield list(zip(*(_python_values(column) for column in batch.columns), strict=True))

    def distinct(self, name: str) -> list[object]:
        """All values of one column, sorted, None first; at most 10,000. Reads the whole file once."""
        self.check()
        found: dict[object, None] = {}
        for batch in self._batches([column for column in self.columns if column.name == name]):
            found.update(dict.fromkeys(batch.column(0).unique().to_pylist()))
            if len(found) > _MAX_GROUPS:
                raise BadInput(f"{self.path}: column {name!r} has more than {_MAX_GROUPS} values; declare the groups")
        return sorted(found, key=_none_first)

    def require_values(self, name: str, allowed: Sequence[object]) -> None:
        """Raises BadInput ``file:line:column`` at the first row whose column holds none of ``allowed``."""
        unknown = [value for value in self.distinct(name) if value not in allowed]
        if unknown:
            where = find_cell(self.path, self.delimiter, name, "" if unknown[0] is None else str(unknown[0]))
            raise BadInput(f"{where} column {name!r}: value {unknown[0]!r} belongs to no declared group")

    def _batches(self, columns: Sequence[Column]) -> Iterator[pa.RecordBatch]:
        try:
            with pacsv.open_csv(
                self.path,
                read_options=pacsv.ReadOptions(use_threads=False, block_size=BLOCK_SIZE_BYTES),
                parse_options=pacsv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
                convert_options=convert_options(columns),
            ) as reader:
                yield from reader if self.rows is None else first_rows(reader, self.rows)
        except (pa.ArrowInvalid, OSError, EOFError) as error:
            raise explain_failure(self.path, self.delimiter, columns, _is_valid, error) from None


def first_rows(batches: Iterable[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    """The batches up to this number of rows; later batches are not read."""
    for batch in batches:
        if rows <= 0:
            return
        yield batch.slice(0, rows)
        rows -= batch.num_rows


def convert_options(columns: Sequence[Column]) -> pacsv.ConvertOptions:
    """The accepted texts of each type, defined once for both reading and diagnosis."""
    return pacsv.ConvertOptions(
        column_types={column.name: ARROW_TYPES[column.type] for column in columns},
        include_columns=[column.name for column in columns],
        null_values=[""],
        strings_can_be_null=False,
    )


def _is_valid(text: str, column_type: ColumnType) -> bool:
    column = Column("v", column_type)
    quoted = text.replace('"', '""').encode("utf-8", "surrogateescape")
    try:
        pacsv.read_csv(
            pa.BufferReader(b'v\n"' + quoted + b'"\n'),
            parse_options=pacsv.ParseOptions(newlines_in_values=True),
            convert_options=convert_options([column]),
        )
    except pa.ArrowInvalid:
        return False
    return True


def _python_values(column: pa.Array) -> list[object]:
    if column.null_count:
        values: list[object] = column.to_pylist()
    else:
        values = column.to_numpy(zero_copy_only=False).tolist()
    return values


def _none_first(value: object) -> tuple[bool, object]:
    return (value is not None, value)
