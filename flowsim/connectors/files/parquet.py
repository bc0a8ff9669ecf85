"""Parquet files: reader, source and sink."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from flowsim.connectors.files.columns import Column, ColumnType, RowLayout, Rows, columns_of, reason_of
from flowsim.connectors.files.csv_file import ARROW_TYPES
from flowsim.connectors.files.text_sinks import PartFile
from flowsim.errors import BadInput, InvariantViolation, did_you_mean
from flowsim.operators.stream_operator import OperatorContext

BATCH_ROWS: Final = 8192

_FITS: Final[dict[ColumnType, Callable[[pa.DataType], bool]]] = {
    ColumnType.STRING: lambda kind: pa.types.is_string(kind) or pa.types.is_large_string(kind),
    ColumnType.INT: lambda kind: pa.types.is_signed_integer(kind) and kind.bit_width <= 32,
    ColumnType.LONG: lambda kind: pa.types.is_signed_integer(kind) or pa.types.is_timestamp(kind),
    ColumnType.DOUBLE: pa.types.is_floating,
    ColumnType.BOOLEAN: pa.types.is_boolean,
}


class ParquetFile:
    """A Parquet file, read as declared columns; by default all its columns with their types.

    A timestamp column may be declared long: milliseconds since 1970-01-01 UTC (a time without zone counts as UTC),
    rounded down. Nulls are None.
    """

    def __init__(self, path: str | Path, columns: Sequence[Column] | None = None) -> None:
        self.path = str(path)
        self.columns = tuple(self._all_columns() if columns is None else columns)

    def check(self) -> None:
        """Raises BadInput if the file cannot be read, lacks a declared column, or has another type for it."""
        schema = self._schema()
        for column in self.columns:
            if column.name not in schema.names:
                raise BadInput(
                    f"{self.path}: no column {column.name!r}{did_you_mean(column.name, schema.names, is_listed=True)}; "
                    f"it has: {', '.join(schema.names)}"
                )
            found = _plain(schema.field(column.name).type)
            if not _FITS[column.type](found):
                raise BadInput(
                    f"{self.path}: column {column.name!r}: expected {column.type.expects}, the file has {found}"
                )

    def blocks(self) -> Iterator[Rows]:
        """Batches of rows in file order; raises BadInput."""
        self.check()
        names = [column.name for column in self.columns]
        try:
            with pq.ParquetFile(self.path) as opened:
                for batch in opened.iter_batches(batch_size=BATCH_ROWS, columns=names, use_threads=False):
                    columns = [_values(batch.column(column.name), column.type) for column in self.columns]
                    yield list(zip(*columns, strict=True))
        except (pa.ArrowException, OSError) as error:
            raise BadInput(f"{self.path}: cannot be read to its end: {reason_of(error)}") from None

    def _schema(self) -> pa.Schema:
        try:
            return pq.read_schema(self.path)
        except (pa.ArrowException, OSError) as error:
            raise BadInput(f"{self.path}: cannot be read as Parquet: {reason_of(error)}") from None

    def _all_columns(self) -> Iterator[Column]:
        for field in self._schema():
            kind = _plain(field.type)
            fitting = [declared for declared, fits in _FITS.items() if fits(kind)]
            if not fitting:
                raise BadInput(
                    f"{self.path}: column {field.name!r} is {kind}, which no column type can hold: declare the columns to read"
                )
            yield Column(field.name, fitting[0])


def _plain(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _values(array: pa.Array, declared: ColumnType) -> list[object]:
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_timestamp(array.type):
        array = _milliseconds(array)
    if array.null_count or declared is ColumnType.STRING:
        values: list[object] = array.to_pylist()
    else:
        values = array.to_numpy(zero_copy_only=False).tolist()
    return values


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


ROW_GROUP_ROWS: Final = 65_536


class ParquetSink:
    """Writes each subtask's rows, in order of arrival, to ``part-<subtask>.parquet`` in the sink's folder.

    ``fields`` declares names and types (string, int, long, double, boolean) in order. Equal rows give equal bytes with
    the same version of pyarrow. Memory holds one row group.
    """

    kind = "parquet"

    def __init__(self, directory: str | Path, fields: Mapping[str, str], row_group_rows: int = ROW_GROUP_ROWS) -> None:
        self.directory = directory
        self.columns: tuple[Column, ...] = columns_of(fields, f"parquet sink {str(directory)!r}")
        self.row_group_rows = row_group_rows

    @property
    def params(self) -> Mapping[str, object]:
        return {"columns": {column.name: column.type.value for column in self.columns}}

    def create_writer(self) -> ParquetWriter:
        """A writer for one subtask."""
        return ParquetWriter(self)


class ParquetWriter:
    """Writes one part."""

    def __init__(self, sink: ParquetSink) -> None:
        self._sink = sink
        self._schema = pa.schema([(column.name, ARROW_TYPES[column.type]) for column in sink.columns])
        self._layout = RowLayout(sink.columns, f"parquet sink {str(sink.directory)!r}")
        self._rows: list[tuple[object, ...]] = []
        self._part: PartFile | None = None
        self._file: pq.ParquetWriter | None = None
        self._is_complete = False

    def open(self, ctx: OperatorContext) -> None:
        self._part = PartFile(self._sink.directory, "parquet", ctx.subtask_index, ctx.parallelism)
        self._file = pq.ParquetWriter(self._part.growing, self._schema, compression="zstd", use_dictionary=True)

    def write(self, value: object, timestamp: int | None) -> None:
        rows = self._rows
        rows.append(self._layout.row(value))
        if len(rows) >= self._sink.row_group_rows:
            self._write_row_group()

    def flush(self) -> None:
        """The input ended: no more rows follow."""
        if self._rows:
            self._write_row_group()
        self._is_complete = True

    def close(self) -> None:
        if self._file is None or self._part is None:
            return
        self._file.close()
        self._file = None
        self._part.close(self._is_complete)

    def _write_row_group(self) -> None:
        if self._file is None:
            raise InvariantViolation("rows were written to a parquet writer before open() or after close()")
        columns = zip(*self._rows, strict=True)
        arrays = [pa.array(values, field.type) for values, field in zip(columns, self._schema, strict=True)]
        self._file.write_table(pa.Table.from_arrays(arrays, schema=self._schema))
        self._rows.clear()
