"""One file of a stored table: its name, and how it is written, opened and checked.

A file may come from a stranger. Its hash, its columns and rows, and the memory that its columns need are checked before
they are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from flowsim.errors import BadInput, column_not_utf8
from flowsim.limits import DEFAULT_LIMITS, Limits, to_raise
from flowsim.quantities import count_text
from flowsim.recording.parquet_pages import DICTIONARY_PAGE, PLAIN, PLAIN_DICTIONARY, RLE_DICTIONARY, pages
from flowsim.recording.recorded_file import StoredFiles

_PAGE_BYTES: Final = 64 << 10
"""What the pages of a column chunk may need besides their values."""
_DICTIONARY_VALUES: Final = 256
_WITH_DICTIONARY: Final = (PLAIN, PLAIN_DICTIONARY, RLE_DICTIONARY)
"""Other encodings repeat parts of texts, so that a small page becomes large."""


@dataclass(frozen=True, slots=True)
class Encoding:
    """How the values of a column are written.

    ``width``: the bytes of a number, 0 for values of any size. ``is_plain``: without a dictionary or another encoding.
    ``is_name``: the reader keeps the dictionary, so a value needs no memory of its own.
    """

    width: int = 0
    is_plain: bool = False
    is_name: bool = False


@dataclass(frozen=True, slots=True)
class TableFile:
    """The form of the files of one table."""

    files: StoredFiles
    table: str
    schema: pa.Schema
    encodings: Sequence[Encoding]
    """One for each column."""

    @property
    def names(self) -> list[str]:
        """The columns that are read with their dictionaries."""
        return [name for name, how in zip(self.schema.names, self.encodings, strict=True) if how.is_name]


class TableFileWriter:
    """Writes one file in memory. The same groups of rows give the same bytes."""

    __slots__ = ("_sink", "_writer")

    def __init__(self, schema: pa.Schema, **options: Any) -> None:
        self._sink = pa.BufferOutputStream()
        self._writer = pq.ParquetWriter(self._sink, schema, compression="zstd", compression_level=1, **options)

    def write(self, group: pa.Table, group_rows: int) -> None:
        """Adds a row group; Parquet splits it after ``group_rows`` rows."""
        self._writer.write_table(group, row_group_size=group_rows)

    def content(self) -> pa.Buffer:
        """Returns the complete file."""
        self._writer.close()
        return self._sink.getvalue()


def part_content(
    files: StoredFiles, path: Path, rows: int, digest: str, limits: Limits = DEFAULT_LIMITS, *, is_verified: bool = True
) -> bytes:
    """Returns the bytes of a file with these rows; with ``is_verified`` also checks their hash; raises BadInput."""
    try:
        content = files.content(path, limits.recording_bytes, "recording_bytes", depth=1)
    except FileNotFoundError:
        raise files.damaged(path, f"missing, but {files.describing} has {count_text(rows, 'row')} of it") from None
    if is_verified:
        files.check_hash(path, content, digest)
    return content


@contextmanager
def reading(files: StoredFiles, path: Path) -> Iterator[None]:
    """Raises BadInput for errors of the reader inside the ``with`` block."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise files.damaged(path, column_not_utf8(error)) from None
    except (OSError, pa.ArrowException) as error:
        raise files.damaged(path, f"cannot be read as Parquet ({(str(error).splitlines() or [''])[0]})") from None


def open_file(
    path: Path, form: TableFile, rows: int, content: bytes, limits: Limits = DEFAULT_LIMITS
) -> pq.ParquetFile:
    """Opens a file with the expected columns and rows; bounds the memory of the columns before they are read.

    Raises BadInput.
    """
    files = form.files
    if rows > limits.recording_rows:
        raise BadInput(
            f"{path}: has {rows:,} rows, expected at most {limits.recording_rows:,} {to_raise('recording_rows')}"
        )
    if len(content) < 12 or int.from_bytes(content[-8:-4], "little") > min(limits.footer_bytes, len(content)):
        raise files.damaged(path, "cannot be read as Parquet (it has no footer)")
    with reading(files, path):
        file = pq.ParquetFile(pa.BufferReader(content), read_dictionary=form.names)
        if file.metadata.num_rows != rows or not file.schema_arrow.equals(form.schema):
            raise files.damaged(path, f"expected {count_text(rows, 'row')} with the columns of {form.table}")
        _check_pages(path, form, file.metadata, content, limits)
    return file


@contextmanager
def opened(
    path: Path, form: TableFile, rows: int, content: bytes, limits: Limits = DEFAULT_LIMITS
) -> Iterator[pq.ParquetFile]:
    """Opens a file as ``open_file`` does. Raises BadInput, also for errors inside the ``with`` block."""
    with open_file(path, form, rows, content, limits) as file, reading(form.files, path):
        yield file


def _check_pages(path: Path, form: TableFile, found: pq.FileMetaData, content: bytes, limits: Limits) -> None:
    """Raises BadInput for columns that need more memory than their rows, or are not encoded as flowsim does it."""
    files, total = form.files, 0
    for group in range(found.num_row_groups):
        of_group = found.row_group(group)
        rows = of_group.num_rows
        if of_group.num_columns != len(form.encodings) or not 0 <= rows <= found.num_rows:
            raise files.damaged(path, f"row group {group} has other columns or rows than the file")
        for number, (name, how) in enumerate(zip(form.schema.names, form.encodings, strict=True)):
            try:
                needed = _memory_bytes(content, of_group.column(number), rows, how)
            except ValueError as error:
                raise files.damaged(path, f"column {name}: {error}") from None
            if needed is None:
                raise files.damaged(path, f"column {name}: its values are not encoded as in a {files.kind}")
            if how.width and needed > _PAGE_BYTES + 2 * how.width * rows:
                what = f"its pages need {needed:,} bytes for {count_text(rows, 'row')}"
                raise files.damaged(path, f"column {name}: {what}")
            if how.is_name and needed > limits.row_bytes + _PAGE_BYTES + 8 * rows:
                raise _too_much(path, "names", needed, limits.row_bytes, "row_bytes")
            total += 0 if how.width else needed
    if total > limits.recording_bytes:
        raise _too_much(path, "values", total, limits.recording_bytes, "recording_bytes")


def _too_much(path: Path, what: str, needed: int, at_most: int, limit: str) -> BadInput:
    return BadInput(f"{path}: its {what} may need {needed:,} bytes, expected at most {at_most:,} {to_raise(limit)}")


def _memory_bytes(content: bytes, chunk: pq.ColumnChunkMetaData, rows: int, how: Encoding) -> int | None:
    """The most that the pages of a column chunk need; None if flowsim encodes its values in another way.

    Raises ValueError for bytes that are no pages of these rows.
    """
    start = chunk.data_page_offset
    if chunk.has_dictionary_page and chunk.dictionary_page_offset is not None:
        start = min(start, chunk.dictionary_page_offset)
    needed = 0
    for page in pages(content, start, chunk.total_compressed_size):
        needed += page.uncompressed_bytes
        if page.values > max(rows, _DICTIONARY_VALUES):
            raise ValueError("a page has more values than its row group has rows")
        if how.is_plain and (page.kind == DICTIONARY_PAGE or page.encoding != PLAIN):
            return None
        is_text = not how.is_plain and not how.is_name and not how.width
        if is_text and page.encoding not in _WITH_DICTIONARY:
            return None
        if is_text and page.kind == DICTIONARY_PAGE:
            needed += page.uncompressed_bytes * rows
    return needed
