"""Compares two recordings: the first different row of each table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Final

import numpy as np
import numpy.typing as npt

from flowsim.facts.schema import FACT_TABLES, TABLES, TEXT_TABLES, Table
from flowsim.history.run_span import start_of
from flowsim.recording.causal_order import TASK_TABLES
from flowsim.recording.digest import NO_TASK
from flowsim.recording.parquet_part import row_dtype, to_packed
from flowsim.recording.reader import Recording
from flowsim.trace.names import Names
from flowsim.trace.sentences import sentence
from flowsim.trace.time import moment_text

Packed = npt.NDArray[np.void]
Row = tuple[int | str, ...]
Pair = tuple[Row | None, Row | None]

_MISSING: Final = "nothing: there are no more rows"


@dataclass(frozen=True, slots=True)
class Difference:
    """The first different row of a table. ``place`` is the position for sorting: time, task and seq, if known."""

    table: str
    where: str
    recorded: str
    replayed: str
    columns: tuple[tuple[str, str], ...]
    """The columns that differ: the name and both values."""
    place: tuple[int, int, int]

    def as_data(self) -> dict[str, object]:
        """Returns the difference as JSON values."""
        return {
            "table": self.table,
            "where": self.where,
            "recorded": self.recorded,
            "replayed": self.replayed,
            "columns": dict(self.columns),
        }


def differences(recorded: Recording, replayed: Recording, tables: Sequence[str]) -> list[Difference]:
    """Returns the first difference of each table that differs, by ``place``.

    Raises BadInput for a damaged recording.
    """
    pair = _Pair(recorded, replayed)
    return sorted(
        filter(None, map(pair.difference, tables)), key=lambda difference: (difference.place, difference.table)
    )


class _Pair:
    def __init__(self, recorded: Recording, replayed: Recording) -> None:
        self._both = (recorded, replayed)
        self._names = (Names(recorded), Names(replayed))
        self._start_ns = start_of(recorded)

    def difference(self, name: str) -> Difference | None:
        table = TABLES[name]
        if table in FACT_TABLES:
            rows = _first_of_facts(table, *self._both)
        else:
            rows = _first_of_texts(*(_in_order(table, recording.static_rows(name)) for recording in self._both))
        return None if rows is None else self._described(table, *rows)

    def _described(self, table: Table, recorded: Row | None, replayed: Row | None) -> Difference:
        names = [column.name for column in table.stored_columns]
        first = recorded or replayed or ()
        row = dict(zip(names, first, strict=True))
        columns: list[tuple[str, str]] = []
        if recorded is not None and replayed is not None:
            both = zip(names, recorded, replayed, strict=True)
            columns = [
                (name, f"recorded {before}, replayed {after}") for name, before, after in both if before != after
            ]
        before, after = (self._text(table, *pair) for pair in zip(self._names, (recorded, replayed), strict=True))
        return Difference(table.name, self._where(row), before, after, tuple(columns), _place(row))

    def _text(self, table: Table, names: Names, row: Row | None) -> str:
        if row is None:
            return _MISSING
        if table in TASK_TABLES:
            return sentence(names, table.name, row[: len(table.columns)]).text  # type: ignore[arg-type]
        return ", ".join(f"{name} {value}" for name, value in zip(table.names, row, strict=False))

    def _where(self, row: Mapping[str, int | str]) -> str:
        parts = []
        if "task" in row:
            task = int(row["task"])
            parts.append(f"{self._names[0].task(task)} (task {task})")
        if "time_ns" in row:
            parts.append(f"at {moment_text(int(row['time_ns']) - self._start_ns)}")
        parts += [f"{name} {row[name]}" for name in ("seq", "step") if name in row]
        return ", ".join(parts)


def _place(row: Mapping[str, int | str]) -> tuple[int, int, int]:
    last = 2**63
    return int(row.get("time_ns", last)), int(row.get("task", last)), int(row.get("seq", row.get("step", last)))


def _in_order(table: Table, rows: Sequence[Row]) -> Sequence[Row]:
    """Returns keys by task over all epochs; within a part they are already sorted by task."""
    return sorted(rows, key=lambda row: int(row[0])) if table in TEXT_TABLES and "task" in table.names else rows


def _first_of_texts(recorded: Sequence[Row], replayed: Sequence[Row]) -> Pair | None:
    return next((pair for pair in zip_longest(recorded, replayed) if pair[0] != pair[1]), None)


def _first_of_facts(table: Table, *both: Recording) -> Pair | None:
    """Returns the first different rows, by time; None for a recording without further rows of the task.

    Memory holds an epoch of each recording, and the rows of one recording that the other does not have yet.
    """
    waiting: dict[int, list[Packed]] = {}
    first_of_task: dict[int, Pair] = {}
    empty: Packed = np.empty(0, dtype=row_dtype(table))
    for epochs in zip_longest(*(_epochs(table, recording) for recording in both), fillvalue={}):
        for task in sorted({*epochs[0], *epochs[1]} - set(first_of_task)):
            rows = [
                np.concatenate((kept, more.get(task, empty)))
                for kept, more in zip(waiting.get(task, [empty, empty]), epochs, strict=True)
            ]
            count = min(map(len, rows))
            differs = np.flatnonzero(rows[0][:count] != rows[1][:count])
            if len(differs):
                first_of_task[task] = tuple(_row(packed[differs[0]]) for packed in rows)  # type: ignore[assignment]
            waiting[task] = [one[count:] for one in rows]
    for task, kept in waiting.items():
        if task not in first_of_task and any(map(len, kept)):
            first_of_task[task] = tuple(_row(packed[0]) if len(packed) else None for packed in kept)  # type: ignore[assignment]
    names = [column.name for column in table.stored_columns]
    return min(
        first_of_task.values(),
        key=lambda pair: _place(dict(zip(names, pair[0] or pair[1] or (), strict=True))),
        default=None,
    )


def _epochs(table: Table, recording: Recording) -> Iterator[dict[int, Packed]]:
    """Yields the rows of each epoch, by task."""
    for epoch, marker in enumerate(recording.markers):
        about = marker.parts.get(table.name)
        by_task: dict[int, Packed] = {}
        if about is not None:
            packed, start = to_packed(table, recording.part(table.name, epoch)), 0
            for task, rows in about.tasks or ((NO_TASK, about.rows),):
                by_task[task] = packed[start : start + rows]
                start += rows
        yield by_task


def _row(packed: np.void) -> Row:
    return tuple(packed.tolist())
