"""The Parquet sink."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from flowsim.connectors.columns import columns_of
from flowsim.connectors.csv_blocks import ARROW_TYPES
from flowsim.connectors.part_file import PartFile
from flowsim.connectors.row_layout import RowLayout
from flowsim.errors import InvariantViolation
from flowsim.operators.stream_operator import OperatorContext

ROW_GROUP_ROWS: Final = 65_536


class ParquetSink:
    """Writes each subtask's rows, in order of arrival, to ``part-<subtask>.parquet`` of a folder of its own.

    ``fields`` declares names and types (string, int, long, double, boolean) in order. Equal rows make equal bytes under
    the same version of pyarrow. Memory holds one row group.
    """

    kind = "parquet"

    def __init__(self, directory: str | Path, fields: Mapping[str, str], row_group_rows: int = ROW_GROUP_ROWS) -> None:
        self.directory = directory
        self.columns = columns_of(fields, f"parquet sink {str(directory)!r}")
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
        """The input ended: what is there is all there will be."""
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
            raise InvariantViolation("a parquet writer was given rows before open or after close")
        columns = zip(*self._rows, strict=True)
        arrays = [pa.array(values, field.type) for values, field in zip(columns, self._schema, strict=True)]
        self._file.write_table(pa.Table.from_arrays(arrays, schema=self._schema))
        self._rows.clear()
