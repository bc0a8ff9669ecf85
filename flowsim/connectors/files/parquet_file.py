"""Reads and writes one Parquet file."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from flowsim.connectors.files.arrow_values import arrow_values
from flowsim.connectors.files.columns import Column, ColumnType, Rows, reason_of
from flowsim.connectors.files.csv_file import ARROW_TYPES
from flowsim.connectors.files.input_file import InputFile, input_file_of
from flowsim.errors import BadInput, column_not_utf8, did_you_mean
from flowsim.limits import to_raise
from flowsim.named_pipe import open_file
from flowsim.quantities import count_text

BATCH_ROWS: Final = 8192
_BATCH_BYTES: Final = 1 << 24

_FITS: Final[dict[ColumnType, Callable[[pa.DataType], bool]]] = {
    ColumnType.STRING: lambda kind: pa.types.is_string(kind) or pa.types.is_large_string(kind),
    ColumnType.INT: lambda kind: pa.types.is_signed_integer(kind) and kind.bit_width <= 32,
    ColumnType.LONG: lambda kind: pa.types.is_signed_integer(kind) or pa.types.is_timestamp(kind),
    ColumnType.DOUBLE: pa.types.is_floating,
    ColumnType.BOOLEAN: pa.types.is_boolean,
}


class ParquetFile:
    """A Parquet file, read as declared columns; by default all its columns with their types.

    A timestamp column may be declared long. Its values are milliseconds since 1970-01-01 UTC, rounded down; a time
    without zone counts as UTC. Nulls are None.
    """

    def __init__(self, path: str | Path | InputFile, columns: Sequence[Column] | None = None) -> None:
        self.file: InputFile = input_file_of(path)
        self.path: str = str(self.file.path)
        self.columns = tuple(self._all_columns() if columns is None else columns)

    def check(self) -> None:
        """Raises BadInput if the file cannot be read, or if a declared column is missing or has another type."""
        schema = self._schema()
        for column in self.columns:
            if column.name not in schema.names:
                raise BadInput(
                    f"{self.path}: no column {column.name!r}{did_you_mean(column.name, schema.names, is_listed=True)}; "
                    f"it has: {', '.join(schema.names)}"
                )
            if schema.names.count(column.name) > 1:
                raise BadInput(f"{self.path}: the file has column {column.name!r} more than once: rename one of them")
            stored = _plain(schema.field(column.name).type)
            if not _FITS[column.type](stored):
                raise BadInput(
                    f"{self.path}: column {column.name!r}: expected {column.type.expects}, the file has {stored}"
                )

    def blocks(self, first_row: int = 0) -> Iterator[Rows]:
        """Yields batches of rows in file order, from row ``first_row`` on, counted from 0; raises BadInput.

        Row groups before that row are not read.
        """
        self.check()
        names = [column.name for column in self.columns]
        row = 0
        try:
            with pq.ParquetFile(self.path, read_dictionary=self._texts()) as opened:
                for group in range(opened.num_row_groups):
                    if row + opened.metadata.row_group(group).num_rows <= first_row:
                        row += opened.metadata.row_group(group).num_rows
                        continue
                    rows = self._rows_at_once(opened.metadata.row_group(group), row)
                    for batch in opened.iter_batches(rows, [group], columns=names, use_threads=False):
                        columns = [
                            self._column(batch.column(declared.name), declared, row) for declared in self.columns
                        ]
                        skipped = max(0, first_row - row)
                        yield list(zip(*columns, strict=True))[skipped:]
                        row += batch.num_rows
        except (pa.ArrowException, OSError) as error:
            raise BadInput(
                f"{self.path}: cannot be read after row {row}: {_reason_of(error)}: create or copy the file again"
            ) from None

    def place_of_row(self, row: int) -> str:
        """Describes the position of row ``row``, counted from 0: the file and the number of the row."""
        return f"{self.file.path.name} row {row + 1}"

    def _texts(self) -> list[str]:
        """Returns the text columns, which are read as dictionaries so that repeated texts share memory."""
        return [column.name for column in self.columns if column.type is ColumnType.STRING]

    def _rows_at_once(self, group: pq.RowGroupMetaData, row: int) -> int:
        """Returns the number of rows in a batch of bounded size; raises BadInput for a row group beyond the limit."""
        names = {column.name for column in self.columns}
        chunks = (group.column(index) for index in range(group.num_columns))
        size = sum(chunk.total_uncompressed_size for chunk in chunks if chunk.path_in_schema.split(".")[0] in names)
        limit = self.file.limits.row_group_bytes
        if size > limit:
            raise BadInput(
                f"{self.path}: expected row groups of at most {limit} bytes "
                f"{to_raise('row_group_bytes')}, the one from row {row + 1} on has {size} in these columns: "
                "write smaller row groups"
            )
        fitting: int = _BATCH_BYTES * group.num_rows // max(1, size)
        return max(1, min(BATCH_ROWS, fitting))

    def _column(self, array: pa.Array, column: Column, row: int) -> list[object]:
        if column.type is ColumnType.STRING:
            return self._strings(array, column, row)
        try:
            return _values(array)
        except pa.ArrowInvalid as error:
            raise BadInput(
                f"{self.path}: column {column.name!r}, row {row + 1} or one of the next {len(array)}: expected "
                f"{column.type.expects}, got a value that does not fit: {reason_of(error)}"
            ) from None

    def _strings(self, array: pa.Array, column: Column, row: int) -> list[object]:
        texts = array.dictionary if pa.types.is_dictionary(array.type) else array
        longest = pc.max(pc.binary_length(texts)).as_py() or 0
        limit = self.file.limits.row_bytes
        if longest > limit:
            raise BadInput(
                f"{self.path}: column {column.name!r}, row {row + 1} or one of the next {len(array)}: expected a "
                f"text of at most {limit} bytes {to_raise('row_bytes')}, got {longest}"
            )
        try:
            values: list[object] = texts.to_pylist()
        except UnicodeDecodeError:
            raise BadInput(
                f"{self.path}: column {column.name!r}, row {row + 1} or one of the next {len(array)}: expected UTF-8 "
                "text: convert the column to UTF-8"
            ) from None
        if texts is array:
            return values
        return [None if index is None else values[index] for index in array.indices.to_pylist()]

    def _schema(self) -> pa.Schema:
        size, footer = self._sizes()
        self.file.check_size(size, "a file")
        most = self.file.limits.footer_bytes
        if most < footer < size:
            raise BadInput(
                f"{self.path}: expected a footer of at most {most} bytes "
                f"{to_raise('footer_bytes')}, got {footer}: write larger row groups"
            )
        try:
            schema = pq.read_schema(self.path)
        except UnicodeDecodeError as error:
            raise BadInput(
                f"{self.path}: {column_not_utf8(error)}: rename the column and write the file again"
            ) from None
        except (pa.ArrowException, OSError) as error:
            raise BadInput(
                f"{self.path}: cannot be read as Parquet: {_reason_of(error)}: create or copy the file again"
            ) from None
        limit = self.file.limits.columns
        if len(schema) > limit:
            raise BadInput(
                f"{self.path}: expected at most {count_text(limit, 'column')} {to_raise('columns')}, got {len(schema)}"
            )
        return schema

    def _sizes(self) -> tuple[int, int]:
        """Returns the size of the file, and that of its footer as its last bytes state it."""
        try:
            with open_file(self.file.path) as opened:
                size = opened.seek(0, io.SEEK_END)
                opened.seek(max(0, size - 8))
                return size, int.from_bytes(opened.read(4), "little")
        except OSError as error:
            raise BadInput(f"{self.path}: cannot be read: {reason_of(error)}") from None

    def _all_columns(self) -> Iterator[Column]:
        for field in self._schema():
            kind = _plain(field.type)
            fitting = [declared for declared, fits in _FITS.items() if fits(kind)]
            if not fitting:
                raise BadInput(
                    f"{self.path}: column {field.name!r} is {kind}, which no column type can hold: declare the columns to read"
                )
            yield Column(field.name, fitting[0])


def _reason_of(error: Exception) -> str:
    """Returns the reason in one line, without the advice that Arrow gives to its callers."""
    reason = reason_of(error).partition(". Either the file is corrupted")[0].rstrip(".")
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in reason)


def _plain(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _values(array: pa.Array) -> list[object]:
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_timestamp(array.type):
        array = _milliseconds(array)
    return arrow_values(array)


_TICKS_PER_MS: Final = {"us": 1_000, "ns": 1_000_000}


def _milliseconds(array: pa.Array) -> pa.Array:
    unit = array.type.unit
    ticks = array.cast(pa.int64())
    if unit == "s":
        return pc.multiply_checked(ticks, 1000)
    per_ms = _TICKS_PER_MS.get(unit, 1)
    # Arrow divides towards zero; timestamps before 1970 must be rounded down.
    down = pc.divide(ticks, per_ms)
    return pc.if_else(pc.greater(pc.multiply(down, per_ms), ticks), pc.subtract(down, 1), down)


class ParquetPart:
    """A Parquet file that is being written."""

    def __init__(self, path: Path, columns: Sequence[Column], row_group_rows: int) -> None:
        self._schema = pa.schema([(column.name, ARROW_TYPES[column.type]) for column in columns])
        self._row_group_rows = row_group_rows
        self._rows: list[tuple[object, ...]] = []
        self._file = pq.ParquetWriter(path, self._schema, compression="zstd", use_dictionary=True)

    def write_row(self, row: tuple[object, ...]) -> None:
        rows = self._rows
        rows.append(row)
        if len(rows) >= self._row_group_rows:
            self._write_row_group()

    def finish(self) -> None:
        if self._rows:
            self._write_row_group()

    def close(self) -> None:
        self._file.close()

    def _write_row_group(self) -> None:
        columns = zip(*self._rows, strict=True)
        arrays = [_array(values, field.type) for values, field in zip(columns, self._schema, strict=True)]
        self._file.write_table(pa.Table.from_arrays(arrays, schema=self._schema))
        self._rows.clear()


def _array(values: tuple[object, ...], kind: pa.DataType) -> pa.Array:
    """Returns checked values of one column. Not ``pa.array``: it imports pandas, if that is installed, for 0.3 s."""
    if pa.types.is_string(kind):
        texts = pa.lib.StringBuilder()
        texts.append_values(values)
        return texts.finish()
    numbers = np.array([0 if value is None else value for value in values], kind.to_pandas_dtype())
    bits = np.packbits(numbers, bitorder="little") if pa.types.is_boolean(kind) else numbers
    valid = np.packbits([value is not None for value in values], bitorder="little") if None in values else None
    buffers = [None if valid is None else pa.py_buffer(valid), pa.py_buffer(bits)]
    return pa.Array.from_buffers(kind, len(values), buffers)
