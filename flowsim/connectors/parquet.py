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
from flowsim.operators.stream_operator import OperatorContext

ROW_GROUP_ROWS: Final = 65_536


class ParquetSink:
    """Writes each subtask's rows, in the order in which they came, to ``part-<subtask>.parquet`` of a folder of its own.

    ``fields`` declares names and types (string, int, long, double, boolean) in order. Equal rows make equal bytes under
    the same version of pyarrow. Memory holds one row group.
    """

    def __init__(self, directory: str | Path, fields: Mapping[str, str], *, row_group_rows: int = ROW_GROUP_ROWS) -> None:
        self.directory = directory
        self.columns = columns_of(fields, f"parquet sink {str(directory)!r}")
        self.row_group_rows = row_group_rows

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

    def open(self, ctx: OperatorContext) -> None:
        self._part = PartFile(self._sink.directory, "parquet", ctx.subtask_index, ctx.parallelism)
        self._file = pq.ParquetWriter(self._part.growing, self._schema, compression="zstd", use_dictionary=True)

    def write(self, value: object, timestamp: int | None) -> None:
        rows = self._rows
        rows.append(self._layout.row(value))
        if len(rows) >= self._sink.row_group_rows:
            self._write_row_group()

    def finish(self) -> None:
        if self._rows:
            self._write_row_group()

    def close(self, failed: bool) -> None:
        if self._file is None or self._part is None:
            return
        if not failed:
            self.finish()
        self._file.close()
        self._file = None
        if failed:
            self._part.discard()
        else:
            self._part.publish()

    def _write_row_group(self) -> None:
        columns = zip(*self._rows, strict=True)
        arrays = [pa.array(values, field.type) for values, field in zip(columns, self._schema, strict=True)]
        assert self._file is not None
        self._file.write_table(pa.Table.from_arrays(arrays, schema=self._schema))
        self._rows.clear()
