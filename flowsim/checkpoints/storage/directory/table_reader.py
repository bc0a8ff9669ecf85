"""Reads rows of a table of a checkpoint, whose files may come from a stranger."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import msgpack
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from flowsim.checkpoints.storage.directory.manifest import StoredPart, damaged, part_path, read_file
from flowsim.checkpoints.storage.directory.tables import StateTable
from flowsim.errors import BadInput, ValueNotAllowed, column_not_utf8
from flowsim.limits import DEFAULT_LIMITS, Limits, to_raise
from flowsim.quantities import count_text
from flowsim.recording.parquet_pages import DICTIONARY_PAGE, PLAIN, pages
from flowsim.values.closed_set import check
from flowsim.values.encoding import decode_untrusted

_PAGE_BYTES: Final = 64 << 10
"""What the pages of a column chunk may need besides their values."""
_WIDTHS: Final = {"i": 4, "q": 8, "?": 1}
_CHECKED: Final = frozenset((str, float, bool, bytes, type(None)))
"""The types whose values are always allowed: msgpack decodes no text with lone surrogates."""
_ARRAY: Final = b"\xdd"
"""The msgpack code of an array whose length follows in 32 bits."""


class TableReader:
    """Reads the parts of one table; the last part that was read stays in memory."""

    __slots__ = ("_directory", "_limits", "_open", "_parts", "_table")

    def __init__(
        self, directory: Path, table: StateTable, parts: Sequence[StoredPart], limits: Limits = DEFAULT_LIMITS
    ) -> None:
        self._directory = directory
        self._table = table
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
        try:
            for group in range(file.metadata.num_row_groups):
                size = file.metadata.row_group(group).num_rows
                begin, end = max(first_row, start), min(first_row + rows, start + size)
                if begin < end:
                    read = file.read_row_group(group, columns=list(columns))
                    read.validate(full=True)
                    yield read.slice(begin - start, end - begin)
                start += size
        except (OSError, pa.ArrowException) as error:
            raise _unreadable(path, error) from None

    def _file(self, part: int) -> pq.ParquetFile:
        if self._open is None or self._open[0] != part:
            self._open = None
            self._open = (part, self._opened(part))
        return self._open[1]

    def _opened(self, part: int) -> pq.ParquetFile:
        path, about = part_path(self._directory, self._table.name, part), self._parts[part]
        if about.rows > self._limits.recording_rows:
            raise BadInput(
                f"{path}: has {about.rows:,} rows, expected at most {self._limits.recording_rows:,} "
                f"{to_raise('recording_rows')}"
            )
        try:
            content = read_file(path, self._limits.recording_bytes, "recording_bytes", depth=1)
        except FileNotFoundError:
            raise damaged(path, f"missing, but the manifest has {count_text(about.rows, 'row')} of it") from None
        if len(content) != about.bytes or hashlib.sha256(content).hexdigest() != about.sha256:
            raise damaged(path, "is not the file that was written")
        footer_bytes = int.from_bytes(content[-8:-4], "little")
        if len(content) < 12 or footer_bytes > min(self._limits.footer_bytes, len(content)):
            raise damaged(path, "cannot be read as Parquet (it has no footer)")
        try:
            file = pq.ParquetFile(pa.BufferReader(content), read_dictionary=self._table.names("s"))
            if file.metadata.num_rows != about.rows or not file.schema_arrow.equals(self._table.written_schema):
                raise damaged(path, f"expected {count_text(about.rows, 'row')} with the columns of {self._table.name}")
            self._check_pages(path, file.metadata, content)
        except UnicodeDecodeError as error:
            raise damaged(path, column_not_utf8(error)) from None
        except (OSError, pa.ArrowException) as error:
            raise _unreadable(path, error) from None
        return file

    def _check_pages(self, path: Path, found: pq.FileMetaData, content: bytes) -> None:
        """Raises BadInput for columns that need more memory than their rows, or are not encoded as a checkpoint's."""
        total = 0
        for group in range(found.num_row_groups):
            of_group = found.row_group(group)
            if of_group.num_columns != len(self._table.columns) or not 0 <= of_group.num_rows <= found.num_rows:
                raise damaged(path, f"row group {group} has other columns or rows than the file")
            for number, column in enumerate(self._table.columns):
                try:
                    needed = _memory_bytes(content, of_group.column(number), of_group.num_rows, column.code)
                except ValueError as error:
                    raise damaged(path, f"column {column.name}: {error}") from None
                if column.code in _WIDTHS and needed > _PAGE_BYTES + 2 * _WIDTHS[column.code] * of_group.num_rows:
                    raise damaged(path, f"column {column.name}: its pages need {needed:,} bytes")
                if column.code == "s" and needed > self._limits.row_bytes + _PAGE_BYTES + 8 * of_group.num_rows:
                    raise BadInput(
                        f"{path}: its names need {needed:,} bytes, expected at most {self._limits.row_bytes:,} "
                        f"{to_raise('row_bytes')}"
                    )
                total += needed
        if total > self._limits.recording_bytes:
            raise BadInput(
                f"{path}: its columns need {total:,} bytes, expected at most {self._limits.recording_bytes:,} "
                f"{to_raise('recording_bytes')}"
            )


def _memory_bytes(content: bytes, chunk: pq.ColumnChunkMetaData, rows: int, code: str) -> int:
    """The most that the pages of a column chunk need; raises ValueError for other pages than a checkpoint has."""
    start = chunk.data_page_offset
    if chunk.has_dictionary_page and chunk.dictionary_page_offset is not None:
        start = min(start, chunk.dictionary_page_offset)
    needed = 0
    for page in pages(content, start, chunk.total_compressed_size):
        needed += page.uncompressed_bytes
        if page.values > rows:
            raise ValueError("a page has more values than its row group has rows")
        if code != "s" and (page.kind == DICTIONARY_PAGE or page.encoding != PLAIN):
            raise ValueError("its values are not encoded as in a checkpoint")
    return needed


def _unreadable(path: Path, error: Exception) -> BadInput:
    return damaged(path, f"cannot be read as Parquet ({(str(error).splitlines() or [''])[0]})")


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
