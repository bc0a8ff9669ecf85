"""The facts of the job's side, which belong to no task: checkpoints, restarts and stored in-flight data."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Final

import pyarrow as pa

from flowsim.errors import BadInput
from flowsim.facts.checkpoint_tables import CHECKPOINTS, RESTARTS, STORED_CHANNELS
from flowsim.facts.table import Table
from flowsim.laws.job_history import CheckpointEvent, RestartEvent, StoredChannelEvent
from flowsim.recording.reader import Recording
from flowsim.recording.recorded_file import damaged

JobEvent = CheckpointEvent | RestartEvent | StoredChannelEvent
JOB_TABLES: Final = (CHECKPOINTS.name, RESTARTS.name, STORED_CHANNELS.name)
_CHUNK_ROWS: Final = 1 << 14


def job_events(recording: Recording, epoch: int, tables: Collection[str] = JOB_TABLES) -> list[tuple[str, JobEvent]]:
    """Returns the events of one epoch with their tables, in their order. Raises BadInput for a damaged part."""
    events: list[tuple[str, JobEvent]] = []
    if CHECKPOINTS.name in tables:
        events += [(CHECKPOINTS.name, event) for event in checkpoint_events(recording, epoch)]
    if RESTARTS.name in tables:
        events += [(RESTARTS.name, RestartEvent(*row)) for row in _all(recording, RESTARTS, epoch)]
    if STORED_CHANNELS.name in tables:
        events += [(STORED_CHANNELS.name, StoredChannelEvent(*row)) for row in _all(recording, STORED_CHANNELS, epoch)]
    return sorted(events, key=lambda found: found[1].step)


def checkpoint_events(recording: Recording, epoch: int) -> Iterator[CheckpointEvent]:
    """Yields the rows of table ``checkpoints`` of one epoch."""
    return (CheckpointEvent(*row) for row in _all(recording, CHECKPOINTS, epoch))


def rows_of(part: pa.Table) -> Iterator[Sequence[int]]:
    """Yields the rows of a part of a table."""
    for batch in part.to_batches(max_chunksize=_CHUNK_ROWS):
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def in_range(recording: Recording, table: str, event: JobEvent, add: Callable[[Any], None]) -> None:
    """Adds an event to a model; raises BadInput if it has a number that no run records."""
    try:
        add(event)
    except ValueError:
        raise job_fact_out_of_range(recording, table, event.step) from None


def job_fact_out_of_range(recording: Recording, table: str, step: int) -> BadInput:
    """Returns the error for a fact of the job's side with a number that no run records."""
    return damaged(recording.directory / table, f"fact {step} has a number that is out of range")


def _all(recording: Recording, table: Table, epoch: int) -> Iterator[Sequence[int]]:
    return rows_of(recording.part(table.name, epoch, table.names))
