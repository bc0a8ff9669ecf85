"""Reads rows of a table of a checkpoint, whose files may come from a stranger."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import msgpack
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from flowsim.checkpoints.storage.directory.manifest import CHECKPOINT, StoredPart, damaged, part_path
from flowsim.checkpoints.storage.directory.tables import StateTable
from flowsim.errors import BadInput, ValueNotAllowed
from flowsim.limits import DEFAULT_LIMITS, Limits
from flowsim.recording.table_file import Encoding, TableFile, open_file, part_content, reading
from flowsim.values.closed_set import check
from flowsim.values.encoding import decode_untrusted

_WIDTHS: Final = {"i": 4, "q": 8, "?": 1}
_CHECKED: Final = frozenset((str, float, bool, bytes, type(None)))
"""The types whose values are always allowed: msgpack decodes no text with lone surrogates."""
_ARRAY: Final = b"\xdd"
"""The msgpack code of an array whose length follows in 32 bits."""


def _file_of(table: StateTable) -> TableFile:
    """Returns the form of the table's files."""
    encodings = [Encoding(_WIDTHS.get(c.code, 0), is_plain=c.code != "s", is_name=c.code == "s") for c in table.columns]
    return TableFile(CHECKPOINT, table.name, table.written_schema, encodings)


class TableReader:
    """Reads the parts of one table; the last part that was read stays in memory."""

    __slots__ = ("_directory", "_form", "_limits", "_open", "_parts", "_table")

    def __init__(
        self, directory: Path, table: StateTable, parts: Sequence[StoredPart], limits: Limits = DEFAULT_LIMITS
    ) -> None:
        self._directory = directory
        self._table = table
        self._form = _file_of(table)
        self._parts = parts
        self._limits = limits
        self._open: tuple[int, pq.ParquetFile] | None = None

    def verify(self) -> None:
        """Raises BadInput if a file is missing, damaged or none of a checkpoint."""
        for part in range(len(self._parts)):
            self._file(part)

    def read(self, first_row: int, rows: int, columns: Sequence[str]) -> StateRows:
        """Returns consecutive rows, at least one, counted over all parts. Raises BadInput."""
        found: list[pa.Table] = []
        start = 0
        for number, part in enumerate(self._parts):
            if start < first_row + rows and first_row < start + part.rows:
                found += self._row_groups(number, start, first_row, rows, columns)
            start += part.rows
        path = self._directory / self._table.name
        return StateRows(path, pa.concat_tables(found).unify_dictionaries().combine_chunks())

    def _row_groups(
        self, part: int, start: int, first_row: int, rows: int, columns: Sequence[str]
    ) -> Iterator[pa.Table]:
        path = part_path(self._directory, self._table.name, part)
        file = self._file(part)
        with reading(CHECKPOINT, path):
            for group in range(file.metadata.num_row_groups):
                size = file.metadata.row_group(group).num_rows
                begin, end = max(first_row, start), min(first_row + rows, start + size)
                if begin < end:
                    read = file.read_row_group(group, columns=list(columns))
                    read.validate(full=True)
                    yield read.slice(begin - start, end - begin)
                start += size

    def _file(self, part: int) -> pq.ParquetFile:
        if self._open is None or self._open[0] != part:
            self._open = None
            self._open = (part, self._opened(part))
        return self._open[1]

    def _opened(self, part: int) -> pq.ParquetFile:
        path, about = part_path(self._directory, self._table.name, part), self._parts[part]
        content = part_content(CHECKPOINT, path, about.rows, about.sha256, self._limits)
        return open_file(path, self._form, about.rows, content, self._limits)


class StateRows:
    """Some rows of a table, by column; values are decoded on demand."""

    __slots__ = ("_path", "_rows", "_values")

    def __init__(self, path: Path, rows: pa.Table) -> None:
        """``path``: for errors. ``rows``: at least one row, each column is one array."""
        self._path = path
        self._rows = rows
        self._values: dict[str, tuple[npt.NDArray[np.int32], memoryview]] = {}

    def __len__(self) -> int:
        return int(self._rows.num_rows)

    def damaged(self, what: str) -> BadInput:
        """Returns the error for rows that flowsim does not write."""
        return damaged(self._path, what)

    def numbers(self, column: str) -> npt.NDArray[Any]:
        """Returns integers."""
        array = self._rows[column].chunk(0)
        dtype = np.dtype(array.type.to_pandas_dtype())
        return np.frombuffer(array.buffers()[1], dtype)[array.offset : array.offset + len(array)]

    def booleans(self, column: str) -> list[bool]:
        """Returns booleans."""
        found: list[bool] = self._rows[column].chunk(0).to_pylist()
        return found

    def names(self, column: str) -> tuple[list[str], list[int]]:
        """Returns the distinct names of a column and, per row, the index of its name."""
        array = self._rows[column].chunk(0)
        indices = array.indices
        numbers = np.frombuffer(indices.buffers()[1], np.int32)[indices.offset : indices.offset + len(indices)]
        return array.dictionary.to_pylist(), numbers.tolist()

    def encoded(self, column: str) -> list[bytes]:
        """Returns the bytes of the values."""
        found: list[bytes] = self._rows[column].chunk(0).to_pylist()
        return found

    def sizes(self, column: str) -> npt.NDArray[np.int64]:
        """Returns the number of bytes of each value."""
        ends, _ = self._column(column)
        return np.diff(ends).astype(np.int64)

    def values(self, column: str, start: int, end: int) -> tuple[object, ...]:
        """Decodes the values of the rows from ``start`` to ``end`` (exclusive). Raises BadInput."""
        ends, encoded = self._column(column)
        try:
            content = encoded[ends[start] : ends[end]]
            values = decode_untrusted(b"".join((_ARRAY, (end - start).to_bytes(4, "big"), content)))
            if not isinstance(values, tuple):
                raise ValueNotAllowed("expected an array")
            for value in values:
                if type(value) not in _CHECKED:
                    check(value)
        except (ValueError, TypeError, ValueNotAllowed, RecursionError, msgpack.UnpackException) as error:
            raise damaged(self._path, f"column {column} has a value that cannot be decoded ({error})") from None
        return values

    def _column(self, column: str) -> tuple[npt.NDArray[np.int32], memoryview]:
        if column not in self._values:
            array = self._rows[column].chunk(0)
            _, offsets, content = array.buffers()
            ends = np.frombuffer(offsets, np.int32)[array.offset : array.offset + len(array) + 1]
            self._values[column] = (ends, memoryview(content) if content is not None else memoryview(b""))
        return self._values[column]
