"""One part of one table: packed rows or tuples to a Parquet file and back. The same rows give the same bytes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from flowsim.facts.schema import Table

_ARROW: Final = {"q": pa.int64(), "i": pa.int32(), "b": pa.int8(), "s": pa.string()}
_NUMPY: Final = {"q": "<i8", "i": "<i4", "b": "i1"}
_RANDOM_BITS: Final = ("fingerprint", "fingerprint_xor")
"""Hashes do not compress, whatever the encoding."""


def part_name(epoch: int) -> str:
    """The name of a table's file of one epoch."""
    return f"part-{epoch:05d}.parquet"


def arrow_schema(table: Table) -> pa.Schema:
    """The table's columns; none may be null."""
    return pa.schema([pa.field(c.name, _ARROW[c.code], nullable=False) for c in table.columns])


def row_dtype(table: Table) -> np.dtype[np.void]:
    """The packed row of a fact table as numpy reads it."""
    return np.dtype([(c.name, _NUMPY[c.code]) for c in table.columns])


def from_packed(table: Table, rows: bytes) -> pa.Table:
    """Columns of packed rows."""
    packed = np.frombuffer(rows, dtype=row_dtype(table))
    # Not pa.array: it imports pandas where that is installed, which takes longer than writing the part.
    columns = [
        pa.Array.from_buffers(_ARROW[c.code], len(packed), [None, pa.py_buffer(np.ascontiguousarray(packed[c.name]))])
        for c in table.columns
    ]
    return pa.Table.from_arrays(columns, schema=arrow_schema(table))


def to_packed(table: Table, columns: pa.Table) -> bytes:
    """Packed rows of columns: the inverse of ``from_packed``."""
    packed: npt.NDArray[np.void] = np.empty(columns.num_rows, dtype=row_dtype(table))
    for column in table.columns:
        packed[column.name] = columns[column.name].to_numpy()
    return packed.tobytes()


def from_tuples(table: Table, rows: Sequence[tuple[int | str, ...]]) -> pa.Table:
    """Columns of rows that may hold text."""
    columns = [pa.array([row[i] for row in rows], _ARROW[c.code]) for i, c in enumerate(table.columns)]
    return pa.Table.from_arrays(columns, schema=arrow_schema(table))


def write_part(table: Table, columns: pa.Table, path: Path, *, durable: bool) -> None:
    """Writes a part aside and renames it; ``durable`` also waits for the disk."""
    aside = path.with_name(f".{path.name}.tmp")
    pq.write_table(
        columns,
        aside,
        compression="zstd",
        compression_level=1,
        use_dictionary=[c.name for c in table.columns if c.code == "b"] or False,
        column_encoding={c.name: _encoding(c.name) for c in table.columns if c.code in "qi"},
        row_group_size=1 << 20,
    )
    if durable:
        with aside.open("rb") as written:
            os.fsync(written.fileno())
    os.replace(aside, path)


def _encoding(column: str) -> str:
    return "PLAIN" if column in _RANDOM_BITS else "DELTA_BINARY_PACKED"
