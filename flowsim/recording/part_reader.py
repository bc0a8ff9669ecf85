"""Opens the file of one part, and compares it with the marker of its epoch."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from flowsim.errors import BadInput, column_not_utf8
from flowsim.facts.schema import TABLES
from flowsim.facts.table import Table
from flowsim.limits import DEFAULT_LIMITS, Limits, to_raise
from flowsim.quantities import count_text
from flowsim.recording.epoch_marker import PartDescription
from flowsim.recording.parquet_pages import DICTIONARY_PAGE, PLAIN, PLAIN_DICTIONARY, RLE_DICTIONARY, pages
from flowsim.recording.parquet_part import arrow_schema
from flowsim.recording.recorded_file import damaged, recorded_bytes

_FOOTER_BYTES: Final = 8 << 20
"""The longest description of row groups; that of the largest part has some hundred kB."""
_PAGE_BYTES: Final = 64 << 10
"""What the pages of a column chunk may need besides their values."""
_DICTIONARY_VALUES: Final = 256
_OF_TEXTS: Final = (PLAIN, PLAIN_DICTIONARY, RLE_DICTIONARY)
"""Other encodings repeat parts of texts, so that a small page becomes large."""
_WIDTHS: Final = {"q": 8, "i": 4, "h": 2, "b": 1}


def part_content(
    path: Path, about: PartDescription, is_verified: bool = True, limits: Limits = DEFAULT_LIMITS
) -> bytes:
    """Returns the bytes of a part; with ``is_verified`` also checks their hash; raises BadInput."""
    try:
        content = recorded_bytes(path, limits.recording_bytes, "recording_bytes", depth=1)
    except FileNotFoundError:
        raise damaged(path, f"missing, but its epoch has {count_text(about.rows, 'row')} of it") from None
    except OSError as error:
        raise damaged(path, f"cannot be read ({error.strerror})") from None
    if is_verified:
        check_hash(path, about, content)
    return content


def check_hash(path: Path, about: PartDescription, content: bytes) -> None:
    """Raises BadInput if the bytes differ from the recorded ones."""
    if hashlib.sha256(content).hexdigest() != about.sha256:
        raise damaged(path, "is not the file that was recorded")


@contextmanager
def open_part(
    path: Path, table: str, about: PartDescription, content: bytes, limits: Limits = DEFAULT_LIMITS
) -> Iterator[pq.ParquetFile]:
    """Opens the part as a Parquet file with the expected columns and rows.

    Bounds the memory of the columns before they are read. Raises BadInput, also for errors inside the ``with`` block.
    """
    if about.rows > limits.recording_rows:
        raise BadInput(
            f"{path}: has {about.rows:,} rows, expected at most {limits.recording_rows:,} {to_raise('recording_rows')}"
        )
    if len(content) < 12 or int.from_bytes(content[-8:-4], "little") > min(_FOOTER_BYTES, len(content)):
        raise damaged(path, "cannot be read as Parquet (it has no footer)")
    try:
        with pq.ParquetFile(pa.BufferReader(content)) as file:
            if file.metadata.num_rows != about.rows or not file.schema_arrow.equals(arrow_schema(TABLES[table])):
                raise damaged(path, f"expected {count_text(about.rows, 'row')} with the columns of table {table}")
            _check_pages(path, TABLES[table], file.metadata, content, limits)
            yield file
    except UnicodeDecodeError as error:
        raise damaged(path, column_not_utf8(error)) from None
    except (OSError, pa.ArrowException) as error:
        raise damaged(path, f"cannot be read as Parquet ({str(error).splitlines()[0]})") from None


def _check_pages(path: Path, table: Table, found: pq.FileMetaData, content: bytes, limits: Limits) -> None:
    """Raises BadInput for columns that need more memory than their rows, or are not encoded as a part is."""
    text_bytes = 0
    for group in range(found.num_row_groups):
        of_group = found.row_group(group)
        rows = of_group.num_rows
        if of_group.num_columns != len(table.stored_columns) or not 0 <= rows <= found.num_rows:
            raise damaged(path, f"row group {group} has other columns or rows than the file")
        for number, column in enumerate(table.stored_columns):
            try:
                needed = _memory_bytes(content, of_group.column(number), rows, column.code == "s")
            except ValueError as error:
                raise damaged(path, f"column {column.name}: {error}") from None
            if column.code == "s":
                text_bytes += needed
            elif needed > _PAGE_BYTES + 2 * _WIDTHS[column.code] * rows:
                raise damaged(
                    path,
                    f"column {column.name}: its pages need {needed:,} bytes for {count_text(rows, 'row')}",
                )
    if text_bytes > limits.recording_bytes:
        raise BadInput(
            f"{path}: its texts may need {text_bytes:,} bytes, expected at most {limits.recording_bytes:,} "
            f"{to_raise('recording_bytes')}"
        )


def _memory_bytes(content: bytes, chunk: pq.ColumnChunkMetaData, rows: int, is_text: bool) -> int:
    """The most that the pages of a column chunk need; raises ValueError for other pages than a part has."""
    start = chunk.data_page_offset
    if chunk.has_dictionary_page and chunk.dictionary_page_offset is not None:
        start = min(start, chunk.dictionary_page_offset)
    needed = 0
    for page in pages(content, start, chunk.total_compressed_size):
        needed += page.uncompressed_bytes
        if page.values > max(rows, _DICTIONARY_VALUES):
            raise ValueError("a page has more values than its row group has rows")
        if is_text and page.encoding not in _OF_TEXTS:
            raise ValueError("its texts are not encoded as in a recording")
        if is_text and page.kind == DICTIONARY_PAGE:
            needed += page.uncompressed_bytes * rows
    return needed
