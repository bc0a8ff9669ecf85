"""Opens the file of one part, and compares it with the marker of its epoch."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from flowsim.facts.schema import TABLES
from flowsim.recording.epoch_marker import PartDescription, damaged
from flowsim.recording.parquet_part import arrow_schema


def part_content(path: Path, about: PartDescription, is_verified: bool = True) -> bytes:
    """Returns the bytes of a part; with ``is_verified`` also checks their hash; raises BadInput."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise damaged(path, f"missing, but its epoch has {about.rows} rows of it") from None
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
def open_part(path: Path, table: str, about: PartDescription, content: bytes) -> Iterator[pq.ParquetFile]:
    """Opens the part as a Parquet file with the expected columns and rows.

    Raises BadInput, also for errors inside the ``with`` block.
    """
    try:
        with pq.ParquetFile(pa.BufferReader(content)) as file:
            if file.metadata.num_rows != about.rows or not file.schema_arrow.equals(arrow_schema(TABLES[table])):
                raise damaged(path, f"expected {about.rows} rows with the columns of table {table}")
            yield file
    except (OSError, pa.ArrowException) as error:
        raise damaged(path, f"cannot be read as Parquet ({str(error).splitlines()[0]})") from None
