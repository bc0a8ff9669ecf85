"""The columns of one part of one table of a recording, and its file. The same rows give the same bytes.

The rows of a part are sorted by task. The rows of one task are in recorded order, so their ``seq`` ascends. Row groups
begin and end with tasks if tasks are small.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from flowsim.errors import BadInput, did_you_mean
from flowsim.facts.schema import RECORD_VALUES, TABLES, Column, Table
from flowsim.recording.recorded_file import RECORDING
from flowsim.recording.table_file import Encoding, TableFile, TableFileWriter
from flowsim.recording.value_columns import ValueColumns

_ARROW: Final = {"q": pa.int64(), "i": pa.int32(), "h": pa.int16(), "b": pa.int8(), "s": pa.string()}
_NUMPY: Final = {"q": "<i8", "i": "<i4", "h": "<i2", "b": "i1"}
_RANDOM_BITS: Final = ("fingerprint", "fingerprint_xor")
"""The columns with hashes, which no encoding compresses."""
_STATISTICS: Final = ("seq", "task", "time_ns")
_GROUP_ROWS_MIN: Final = 1 << 14
_GROUP_ROWS_MAX: Final = 1 << 17

TaskRows = tuple[tuple[int, int], ...]
"""The tasks in ascending order, each with its number of rows."""


def arrow_schema(table: Table) -> pa.Schema:
    """Returns the table's columns, none of which is nullable."""
    return pa.schema([pa.field(c.name, _ARROW[c.code], nullable=False) for c in table.stored_columns])


def table_file(table: Table) -> TableFile:
    """Returns the form of a part."""
    widths = [np.dtype(_NUMPY[c.code]).itemsize if c.code in _NUMPY else 0 for c in table.stored_columns]
    return TableFile(RECORDING, table.name, arrow_schema(table), [Encoding(width) for width in widths])


def row_dtype(table: Table) -> np.dtype[np.void]:
    """Returns the numpy type of a packed row of a fact table."""
    return np.dtype([(c.name, _NUMPY[c.code]) for c in table.stored_columns])


def sorted_by_task(table: Table, rows: bytes) -> tuple[npt.NDArray[np.void], TaskRows]:
    """Returns packed rows in the order of a part; rows of a table without tasks are not sorted."""
    packed = np.frombuffer(rows, dtype=row_dtype(table))
    if "task" not in table.names:
        return packed, ()
    task: npt.NDArray[np.int32] = np.ascontiguousarray(packed["task"])
    if (task[1:] < task[:-1]).any():
        # 16-bit numbers use radix sort.
        order = np.argsort(task.astype(np.uint16) if task.max() < 1 << 16 else task, kind="stable")
        packed, task = packed[order], task[order]
    starts = [0, *(np.flatnonzero(task[1:] != task[:-1]) + 1).tolist(), len(task)]
    return packed, tuple((int(task[start]), end - start) for start, end in pairwise(starts))


def from_packed(table: Table, packed: npt.NDArray[np.void]) -> pa.Table:
    """Converts packed rows to columns."""
    columns = [_of_numbers(c, packed[c.name]) for c in table.stored_columns]
    return pa.Table.from_arrays(columns, schema=arrow_schema(table))


# Not pa.array: it imports pandas if installed, which takes longer than writing the part.
def _of_numbers(column: Column, values: npt.NDArray[Any]) -> pa.Array:
    return pa.Array.from_buffers(_ARROW[column.code], len(values), [None, pa.py_buffer(np.ascontiguousarray(values))])


def _of_texts(values: Sequence[int | str | bytes]) -> pa.Array:
    encoded = [value if isinstance(value, bytes) else str(value).encode() for value in values]
    ends = np.cumsum([0, *map(len, encoded)]).astype(np.int32)
    return pa.StringArray.from_buffers(len(encoded), pa.py_buffer(ends), pa.py_buffer(b"".join(encoded)))


def from_values(columns: ValueColumns) -> pa.Table:
    """Converts rows of table ``record_values`` to columns."""
    numbers, timestamps, lines, bounds = columns
    ends = (bounds - np.arange(len(bounds))).astype(np.int32)
    texts = pa.StringArray.from_buffers(len(numbers), pa.py_buffer(ends), pa.py_buffer(lines.translate(None, b"\n")))
    integers = zip(RECORD_VALUES.stored_columns, (numbers, timestamps), strict=False)
    arrays = [*(_of_numbers(column, values) for column, values in integers), texts]
    return pa.Table.from_arrays(arrays, schema=arrow_schema(RECORD_VALUES))


def to_packed(table: Table, columns: pa.Table) -> npt.NDArray[np.void]:
    """Converts columns to packed rows: the inverse of ``from_packed``."""
    packed: npt.NDArray[np.void] = np.empty(columns.num_rows, dtype=row_dtype(table))
    for column in table.stored_columns:
        packed[column.name] = as_numpy(columns[column.name])
    return packed


def known_table(name: str) -> Table:
    """Returns the description of a table; raises BadInput if there is none."""
    if name not in TABLES:
        raise BadInput(f"a recording has no table {name!r}{did_you_mean(name, TABLES)}; docs/recording.md lists them")
    return TABLES[name]


def as_numpy(column: pa.ChunkedArray) -> Any:
    """Returns the values of a column, without a copy if they are contiguous.

    The function does not use ``to_numpy``, because that imports pandas.
    """
    if pa.types.is_string(column.type):
        return np.array([*column.to_pylist(), None], dtype=object)[:-1]
    dtype = np.dtype(column.type.to_pandas_dtype())
    chunks = [np.frombuffer(c.buffers()[1], dtype)[c.offset : c.offset + len(c)] for c in column.chunks if len(c)]
    if len(chunks) == 1:
        return chunks[0]
    return np.concatenate(chunks) if chunks else np.empty(0, dtype)


def from_lists(table: Table, columns: Sequence[Sequence[int | str | bytes]]) -> pa.Table:
    """Converts stored values that may be text, including UTF-8 bytes, to columns."""
    arrays = [
        _of_texts(values) if c.code == "s" else _of_numbers(c, np.array(values, _NUMPY[c.code]))
        for c, values in zip(table.stored_columns, columns, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=arrow_schema(table))


def from_rows(table: Table, rows: Sequence[Sequence[int | str]]) -> pa.Table:
    """Converts stored rows to columns."""
    return from_lists(table, list(zip(*rows, strict=True)) if rows else [()] * len(table.stored_columns))


def part_bytes(table: Table, columns: pa.Table, tasks: TaskRows) -> pa.Buffer:
    """Returns the content of a part's file."""
    options: dict[str, Any] = {
        "use_dictionary": [c.name for c in table.columns if c.code == "b"] or False,
        "column_encoding": {c.name: _encoding(c.name) for c in table.stored_columns if c.code in "qih"},
        "write_statistics": [name for name in table.names if name in _STATISTICS] or False,
    }
    writer, start = TableFileWriter(columns.schema, **options), 0
    for rows in _groups(tasks, columns.num_rows):
        writer.write(columns.slice(start, rows), _GROUP_ROWS_MAX)
        start += rows
    return writer.content()


def _groups(tasks: TaskRows, rows: int) -> list[int]:
    """Returns row groups of whole tasks, with a minimum number of rows; Parquet splits a large task further."""
    groups, size = [], 0
    for _, count in tasks:
        if size and size + count > _GROUP_ROWS_MAX:
            groups.append(size)
            size = 0
        size += count
        if size >= _GROUP_ROWS_MIN:
            groups.append(size)
            size = 0
    if size:
        groups.append(size)
    return groups or [rows]


def _encoding(column: str) -> str:
    return "PLAIN" if column in _RANDOM_BITS else "DELTA_BINARY_PACKED"
