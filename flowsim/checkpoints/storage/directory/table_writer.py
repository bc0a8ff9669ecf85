"""Writes the rows of one table of a checkpoint to its files. The same rows give the same bytes."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import pyarrow as pa

from flowsim.checkpoints.storage.directory.manifest import StoredPart, part_path
from flowsim.checkpoints.storage.directory.tables import (
    ARROW,
    CHANNEL_STATE,
    COORDINATOR_STATE,
    KEYED_STATE,
    OPERATOR_STATE,
    STORED_STATE,
    TIMERS,
    EncodedColumn,
    StateTable,
    of_booleans,
    of_bytes,
    of_names,
    of_numbers,
)
from flowsim.recording.table_file import TableFileWriter
from flowsim.state.redistribution.operator_state import StoredContent
from flowsim.state.snapshots.stored_streams import (
    ChannelStateStream,
    KeyedStateStream,
    OperatorStateStream,
    StoredStream,
    TimerStream,
)

_BATCH_ROWS: Final = 1024
_GROUP_ROWS: Final = 1 << 16
_GROUP_BYTES: Final = 32 << 20
_PART_ROWS: Final = 1 << 20
_PART_BYTES: Final = 128 << 20
"""Half of what a reader accepts by default (``Limits.recording_bytes``)."""

T = TypeVar("T")
Batch = tuple[pa.RecordBatch, int]
"""Rows, and the size of their encoded values."""


def table_of(stream: StoredStream) -> StateTable:
    """Returns the table that contains the rows of a stream."""
    match stream:
        case KeyedStateStream():
            return KEYED_STATE
        case TimerStream():
            return TIMERS
        case OperatorStateStream():
            return OPERATOR_STATE
        case ChannelStateStream():
            return CHANNEL_STATE


def batches(operator_id: str, subtask: int, stream: StoredStream, element_states: Sequence[str]) -> Iterator[Batch]:
    """Yields the rows of a stream; ``element_states``: the name of the state of each element of operator state.

    Raises ValueNotAllowed.
    """
    match stream:
        case KeyedStateStream():
            rows = [(group, cell) for group in sorted(stream.cells) for cell in stream.cells[group]]
            for some in _pieces(rows):
                groups, cells = [group for group, _ in some], [cell for _, cell in some]
                values = [
                    EncodedColumn.of_few([cell.namespace for cell in cells]),
                    EncodedColumn.of([cell.key for cell in cells]),
                    EncodedColumn.of([cell.content for cell in cells]),
                ]
                named = [of_numbers(groups, pa.int32()), of_names([cell.state for cell in cells])]
                yield _batch(KEYED_STATE, operator_id, subtask, named, values)
        case TimerStream():
            all_timers = [(group, timer) for group in sorted(stream.timers) for timer in stream.timers[group]]
            for piece in _pieces(all_timers):
                timers = [timer for _, timer in piece]
                values = [
                    EncodedColumn.of([timer.key for timer in timers]),
                    EncodedColumn.of_few([timer.namespace for timer in timers]),
                ]
                named = [
                    of_numbers([group for group, _ in piece], pa.int32()),
                    of_names([timer.service for timer in timers]),
                    of_booleans([timer.is_event_time for timer in timers]),
                    of_numbers([timer.timestamp for timer in timers], pa.int64()),
                ]
                yield _batch(TIMERS, operator_id, subtask, named, values)
        case OperatorStateStream():
            for elements in _pieces(list(zip(element_states, stream.elements, strict=True))):
                values = [EncodedColumn.of([element for _, element in elements])]
                yield _batch(OPERATOR_STATE, operator_id, subtask, [of_names([name for name, _ in elements])], values)
        case ChannelStateStream():
            for buffers in _pieces(stream.buffers):
                yield _batch(
                    CHANNEL_STATE, operator_id, subtask, [of_bytes(buffers, pa.binary())], [], sum(map(len, buffers))
                )


def coordinator_batch(operator_ids: Sequence[str], states: EncodedColumn) -> Batch:
    """Returns the rows of the states of operator coordinators."""
    return _checked([of_names(operator_ids), *states.arrays()], COORDINATOR_STATE), states.size_bytes


def content_batches(operator_id: str, subtask: int, contents: Sequence[StoredContent]) -> Iterator[Batch]:
    """Yields the rows of what a subtask stored."""
    for some in _pieces(contents):
        columns = zip(STORED_STATE.columns[2:], zip(*some, strict=True), strict=True)
        numbers = [of_numbers(values, ARROW[column.code]) for column, values in columns]
        yield _batch(STORED_STATE, operator_id, subtask, numbers, [])


def _pieces(rows: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(rows), _BATCH_ROWS):
        yield rows[start : start + _BATCH_ROWS]


def _batch(
    table: StateTable,
    operator_id: str,
    subtask: int,
    named: Iterable[pa.Array],
    values: Sequence[EncodedColumn],
    named_bytes: int = 0,
) -> Batch:
    columns = [*named, *(array for value in values for array in value.arrays())]
    rows = len(columns[0])
    columns = [of_names([operator_id] * rows), of_numbers([subtask] * rows, pa.int32()), *columns]
    return _checked(columns, table), named_bytes + sum(value.size_bytes for value in values)


def _checked(columns: Sequence[pa.Array], table: StateTable) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(columns, schema=table.written_schema)


class TableWriter:
    """Writes the files of one table in a folder; nothing is written before the first row."""

    __slots__ = (
        "parts",
        "rows",
        "_directory",
        "_part_bytes",
        "_part_rows",
        "_pending",
        "_pending_bytes",
        "_pending_rows",
        "_table",
        "_writer",
    )

    def __init__(self, directory: Path, table: StateTable) -> None:
        self._directory = directory
        self._table = table
        self.rows = 0
        """The number of rows so far."""
        self.parts: list[StoredPart] = []
        """The files; complete after ``close``."""
        self._pending: list[pa.RecordBatch] = []
        self._pending_rows = self._pending_bytes = 0
        self._part_rows = self._part_bytes = 0
        self._writer: TableFileWriter | None = None

    def append(self, batch: Batch) -> None:
        """Adds rows. Raises OSError."""
        rows, size = batch
        self._pending.append(rows)
        self.rows += rows.num_rows
        self._pending_rows += rows.num_rows
        self._pending_bytes += size
        if self._pending_rows >= _GROUP_ROWS or self._pending_bytes >= _GROUP_BYTES:
            self._end_group()

    def close(self) -> None:
        """Writes the rest. Raises OSError."""
        if self._pending:
            self._end_group()
        if self._writer is not None:
            self._end_part(self._writer)

    def _end_group(self) -> None:
        group = pa.Table.from_batches(self._pending).unify_dictionaries()
        if self._writer is None:
            self._writer = TableFileWriter(self._table.written_schema, **_options(self._table))
        self._writer.write(group, 2 * _GROUP_ROWS)
        self._part_rows += self._pending_rows
        self._part_bytes += self._pending_bytes
        self._pending = []
        self._pending_rows = self._pending_bytes = 0
        if self._part_rows >= _PART_ROWS or self._part_bytes >= _PART_BYTES:
            self._end_part(self._writer)

    def _end_part(self, writer: TableFileWriter) -> None:
        content = writer.content()
        path = part_path(self._directory, self._table.name, len(self.parts))
        path.parent.mkdir(exist_ok=True)
        write_synced(path, content)
        digest = hashlib.sha256(memoryview(content)).hexdigest()
        self.parts.append(StoredPart(rows=self._part_rows, bytes=content.size, sha256=digest))
        self._writer = None
        self._part_rows = self._part_bytes = 0


def _options(table: StateTable) -> dict[str, Any]:
    return {
        "use_dictionary": table.names("s"),
        "write_statistics": table.names("i", "q"),
        "store_schema": False,
    }


def write_synced(path: Path, content: bytes | pa.Buffer) -> None:
    """Writes a new file, and waits for the disk."""
    with path.open("xb") as file:
        file.write(memoryview(content))
        file.flush()
        os.fsync(file.fileno())
