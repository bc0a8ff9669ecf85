"""Stores facts in memory, for exploration and tests: their runs are short and are checked at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from flowsim.facts.kinds import Level
from flowsim.facts.recorder import VALUES_BYTES, Append
from flowsim.facts.row_buffer import RowBuffer
from flowsim.facts.schema import FACT_TABLES, RECORD_VALUES, STATIC_TABLES, TABLES, Table
from flowsim.recording.attempts import Attempts
from flowsim.recording.digest import content_hashes, facts_digest
from flowsim.recording.distinct_values import DistinctValues
from flowsim.recording.parquet_part import from_rows, known_table

if TYPE_CHECKING:
    import pandas as pd


class MemoryRecorder:
    """Packed rows per fact table. Implements ``facts.tracer.Recorder`` and ``laws.facts.Facts``."""

    def __init__(self, level: Level, values_bytes: int = VALUES_BYTES, records_state: bool = False) -> None:
        """``values_bytes``: the size limit of table ``record_values`` in bytes."""
        self.level = level
        self.records_state = records_state
        self.values: DistinctValues = DistinctValues(values_bytes)
        self._attempts = Attempts()
        self._buffers = {t.name: RowBuffer(t) for t in FACT_TABLES}
        self._unpacked: dict[str, list[tuple[int, ...]]] = {t.name: [] for t in FACT_TABLES}
        self._static: dict[str, list[tuple[int | str, ...]]] = {t.name: [] for t in STATIC_TABLES}

    def appender(self, table: Table) -> Append:
        """Returns the append function of one fact table; it drops rows of tables above the level."""
        return self._buffers[table.name].append if table.level <= self.level else ignore

    def row_buffer(self, table: Table) -> RowBuffer:
        """Returns the rows of a fact table that every level records."""
        return self._buffers[table.name]

    def static(self, table: Table, rows: Sequence[tuple[int | str, ...]]) -> None:
        """Adds rows to a description table."""
        self._static[table.name].extend(rows)

    def begin_attempt(self, task: int, seq: int) -> None:
        """Starts a new attempt of a task; its facts from this ``seq`` on belong to that attempt."""
        self._attempts.begin(task, seq)

    def attempt(self, task: int, seq: int) -> int:
        """Returns the attempt of its task in which a fact was recorded."""
        return self._attempts.of(task, seq)

    def _stored(self, table: Table) -> Sequence[tuple[int, ...]]:
        rows = self.rows(table.name)
        if not table.has_attempt:
            return rows
        seq, task = table.names.index("seq"), table.names.index("task")
        return [(*row, self._attempts.of(row[task], row[seq])) for row in rows]

    def rows(self, table: str) -> Sequence[tuple[int, ...]]:
        """Returns the rows of a fact table in the order in which they were recorded."""
        buffer, unpacked = self._buffers[table], self._unpacked[table]
        if len(buffer) != len(unpacked):
            unpacked = self._unpacked[table] = buffer.rows()
        return unpacked

    def static_rows(self, table: str) -> Sequence[tuple[int | str, ...]]:
        """Returns the rows of a description table."""
        if table == RECORD_VALUES.name:
            waiting = self.values.waiting()
            texts = waiting.lines.decode().split("\n")[:-1]
            return list(zip(waiting.numbers.tolist(), waiting.timestamps.tolist(), texts, strict=True))
        return self._static[table]

    def packed_rows(self, table: Table) -> bytes:
        """Returns the rows of a fact table as ``RowBuffer`` packs them."""
        return self._buffers[table.name].out.getvalue()

    @property
    def attempts(self) -> Attempts:
        """The attempts of all tasks so far."""
        return self._attempts.copy()

    def table(self, table: str) -> pa.Table:
        """Returns all rows of a table as stored; see ``Recording.table``."""
        described = known_table(table)
        return from_rows(described, self.static_rows(table) if described in STATIC_TABLES else self._stored(described))

    def to_arrow(self, table: str, *, readable: bool = True, keys: bool = False, values: bool = False) -> pa.Table:
        """Returns all rows of a table in readable form; see ``Recording.to_arrow``."""
        from flowsim.recording.frames import to_arrow

        return to_arrow(self, table, readable=readable, keys=keys, values=values)

    def to_pandas(self, table: str, *, readable: bool = True, keys: bool = False, values: bool = False) -> pd.DataFrame:
        """Returns all rows of a table in readable form; see ``Recording.to_pandas``."""
        from flowsim.recording.frames import to_pandas

        return to_pandas(self, table, readable=readable, keys=keys, values=values)

    def columns(self, table: str) -> tuple[str, ...]:
        """Returns the names of a table's columns."""
        return TABLES[table].names

    def facts_digest(self) -> str:
        """Returns the same digest as a ``RecordingWriter`` computes for these facts."""
        kept = [(t, self._stored(t)) for t in FACT_TABLES if t.level <= self.level]
        described = [(t, self.static_rows(t.name)) for t in STATIC_TABLES]
        return facts_digest(
            self.level,
            {t.name: content_hashes(t, rows).digest() for t, rows in (*kept, *described)},
        )


def ignore(*_: int) -> None:
    """The append function of a table above the recorder's level: drops the row."""
