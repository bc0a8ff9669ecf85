"""The facts of a recording in causal order, read part by part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from flowsim.facts.kinds import ActionPhase
from flowsim.facts.schema import ACTIONS, TABLES, TASK_ATTEMPT, Table
from flowsim.recording.causal_order import TASK_TABLES, CausalOrder
from flowsim.recording.parquet_part import as_numpy
from flowsim.recording.reader import Recording

Ints = npt.NDArray[np.int64]

_CHUNK_ROWS: Final = 1 << 14
_LAST: Final = np.iinfo(np.int64).max
_OPENS: Final = (ActionPhase.BEGIN, ActionPhase.WAIT)


@dataclass(frozen=True, slots=True)
class Selection:
    """A selection of facts; None: all facts. ``values``: per table, the allowed values of some columns.

    ``from_ns`` (inclusive) and ``to_ns`` (exclusive) limit column ``time_ns``. With ``channels`` only facts of these
    channels.
    """

    tables: tuple[str, ...] = tuple(table.name for table in TASK_TABLES)
    tasks: frozenset[int] | None = None
    channels: frozenset[int] | None = None
    from_ns: int | None = None
    to_ns: int | None = None
    values: Mapping[str, Mapping[str, frozenset[int]]] = field(default_factory=dict)


class Fact(NamedTuple):
    """One row of a fact table.

    ``time_ns`` is never below that of the previous fact. ``depth`` is the number of actions and waits of the task that
    enclose the fact; 0 below level full.
    """

    table: str
    task: int
    time_ns: int
    depth: int
    row: tuple[int, ...]


class Rows:
    """Some rows of one table as columns, with their time and round in the causal order, and their depth."""

    __slots__ = ("table", "columns", "times", "rounds", "depths")

    def __init__(self, table: Table, columns: list[Ints], times: Ints, rounds: Ints, depths: Ints) -> None:
        self.table = table
        self.columns = columns
        self.times = times
        self.rounds = rounds
        self.depths = depths

    @classmethod
    def none(cls, table: Table) -> Rows:
        empty: Ints = np.empty(0, dtype=np.int64)
        return cls(table, [empty for _ in table.columns], empty, empty, empty)

    def __len__(self) -> int:
        return len(self.times)

    def column(self, name: str) -> Ints:
        return self.columns[self.table.names.index(name)]

    def join(self, more: Rows) -> Rows:
        if not len(self):
            return more
        columns = [np.concatenate(pair) for pair in zip(self.columns, more.columns, strict=True)]
        ours, theirs = (self.times, self.rounds, self.depths), (more.times, more.rounds, more.depths)
        return Rows(self.table, columns, *(np.concatenate(pair) for pair in zip(ours, theirs, strict=True)))

    def before_time(self, time_ns: int) -> Rows:
        return self._where(self.times < time_ns)

    def from_time(self, time_ns: int) -> Rows:
        return self._where(self.times >= time_ns)

    def _where(self, wanted: npt.NDArray[np.bool_]) -> Rows:
        if wanted.all():
            return self
        columns = [column[wanted] for column in self.columns]
        return Rows(self.table, columns, self.times[wanted], self.rounds[wanted], self.depths[wanted])


@dataclass(frozen=True, slots=True)
class MergedRows:
    """Consecutive facts in causal order: fact ``n`` is row ``index[n]`` of ``rows[table_of[n]]``."""

    rows: list[Rows]
    table_of: Ints
    index: Ints


def merged_facts(recording: Recording, selection: Selection) -> Iterator[Fact]:
    """Yields the facts of ``selection`` in causal order; raises BadInput for a damaged part."""
    for merged in merged_rows(recording, selection):
        yield from _facts_of(merged)


def merged_rows(recording: Recording, selection: Selection) -> Iterator[MergedRows]:
    """Yields the facts of ``selection`` in causal order, as columns; raises BadInput for a damaged part.

    Memory holds one epoch. Of parts outside the selected time only what orders the selected facts and gives their
    depth is read.
    """
    tables = [
        TABLES[name]
        for name in selection.tables
        if TABLES[name].level <= recording.level and (selection.channels is None or "channel" in TABLES[name].names)
    ]
    order, depths = CausalOrder(recording), _Depths(recording)
    later = [Rows.none(table) for table in tables]
    for epoch, horizon_ns in enumerate(_horizons(recording, tables, selection)):
        order.begin(epoch)
        depths.begin(epoch)
        fresh = [_read(recording, table, epoch, selection, order, depths) for table in tables]
        rows = [kept.join(more) for kept, more in zip(later, fresh, strict=True)]
        later = [of_table.from_time(horizon_ns) for of_table in rows]
        merged = _in_order([of_table.before_time(horizon_ns) for of_table in rows])
        if merged is not None:
            yield merged


class _Depths:
    """The nesting depth of actions and waits, per task, from epoch to epoch; it is 0 when an attempt begins."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._depth: dict[int, int] = {}
        self._attempt: dict[int, int] = {}
        self._steps: dict[int, tuple[Ints, Ints, Ints]] = {}
        """Per task, the sequence numbers of the epoch's actions, and the depth around and after each action."""

    def begin(self, epoch: int) -> None:
        """Reads the actions of an epoch."""
        for task, (_, _, after) in self._steps.items():
            self._depth[task] = int(after[-1])
        self._steps = {}
        names = ("seq", "task", "phase", TASK_ATTEMPT.name)
        part = self._recording.part(ACTIONS.name, epoch, names)
        if not part.num_rows:
            return
        seq, task_of, phase, attempt_of = (as_numpy(part[name]).astype(np.int64) for name in names)
        steps = np.where(np.isin(phase, _OPENS), 1, -1)
        for task in np.unique(task_of).tolist():
            of_task = task_of == task
            order = np.argsort(seq[of_task], kind="stable")
            step, attempt = steps[of_task][order], attempt_of[of_task][order]
            after = self._depth.get(task, 0) + np.cumsum(step)
            for at in np.flatnonzero(np.diff(attempt, prepend=self._attempt.get(task, 0))).tolist():
                after[at:] += step[at] - after[at]
            self._attempt[task] = int(attempt[-1])
            self._steps[task] = seq[of_task][order], np.minimum(after - step, after), after

    def of(self, tasks: Ints, seqs: Ints) -> Ints:
        """Returns the depth at each fact of this epoch; for an action or wait, the depth outside of it."""
        depths = np.zeros(len(tasks), dtype=np.int64)
        for task in np.unique(tasks).tolist():
            of_task = tasks == task
            before = self._depth.get(task, 0)
            known = self._steps.get(task)
            if known is None:
                depths[of_task] = before
                continue
            numbers, around, after = known
            at = np.searchsorted(numbers, seqs[of_task], side="right") - 1
            is_action = (at >= 0) & (numbers[np.maximum(at, 0)] == seqs[of_task])
            inside = np.where(at < 0, before, after[np.maximum(at, 0)])
            depths[of_task] = np.where(is_action, around[np.maximum(at, 0)], inside)
        return np.maximum(depths, 0)


def _horizons(recording: Recording, tables: list[Table], selection: Selection) -> list[int]:
    """Returns, per epoch, the minimum time of all later epochs: facts at or after this time wait for those epochs.

    A task inside a batch is ahead of other tasks, so epochs overlap in time. Epochs after the last one in the selected
    time are omitted.
    """
    horizons: list[int] = []
    least = _LAST
    for epoch in reversed(range(len(recording.epochs))):
        bounds_of_parts = [recording.time_bounds(table.name, epoch) for table in tables]
        bounds = [
            first_and_last
            for first_and_last in bounds_of_parts
            if first_and_last is not None and _overlap(first_and_last, selection)
        ]
        if bounds or horizons:
            horizons.append(least)
        least = min([least, *(first for first, _ in bounds)])
    return horizons[::-1]


def _read(
    recording: Recording, table: Table, epoch: int, selection: Selection, order: CausalOrder, depths: _Depths
) -> Rows:
    bounds = recording.time_bounds(table.name, epoch)
    if bounds is None or not _overlap(bounds, selection):
        return Rows.none(table)
    part = recording.part(table.name, epoch, table.names)
    columns: list[Ints] = [as_numpy(column).astype(np.int64, copy=False) for column in part.columns]
    is_selected = _mask(table, columns, selection)
    if not is_selected.all():
        columns = [column[is_selected] for column in columns]
    task, seq, time = (columns[table.names.index(name)] for name in ("task", "seq", "time_ns"))
    return Rows(table, columns, *order.of(task, seq, time), depths.of(task, seq))


def _overlap(bounds: tuple[int, int], selection: Selection) -> bool:
    too_early = selection.from_ns is not None and bounds[1] < selection.from_ns
    too_late = selection.to_ns is not None and bounds[0] >= selection.to_ns
    return not (too_early or too_late)


def _mask(table: Table, columns: list[Ints], selection: Selection) -> npt.NDArray[np.bool_]:
    def column(name: str) -> Ints:
        return columns[table.names.index(name)]

    is_selected: npt.NDArray[np.bool_] = np.ones(len(columns[0]), dtype=np.bool_)
    if selection.from_ns is not None:
        is_selected &= column("time_ns") >= selection.from_ns
    if selection.to_ns is not None:
        is_selected &= column("time_ns") < selection.to_ns
    if selection.tasks is not None:
        is_selected &= np.isin(column("task"), sorted(selection.tasks))
    if selection.channels is not None:
        is_selected &= np.isin(column("channel"), sorted(selection.channels))
    for name, values in selection.values.get(table.name, {}).items():
        is_selected &= np.isin(column(name), sorted(values))
    return is_selected


def _in_order(rows: list[Rows]) -> MergedRows | None:
    rows = [of_table for of_table in rows if len(of_table)]
    if not rows:
        return None
    task, seq = (np.concatenate([of_table.column(name) for of_table in rows]) for name in ("task", "seq"))
    times, rounds = (
        np.concatenate(columns)
        for columns in zip(*((of_table.times, of_table.rounds) for of_table in rows), strict=True)
    )
    order = np.lexsort((seq, task, rounds, times))
    table_of = np.concatenate([np.full(len(of_table), number) for number, of_table in enumerate(rows)])
    index = np.concatenate([np.arange(len(of_table)) for of_table in rows])
    return MergedRows(rows, table_of[order], index[order])


def _facts_of(merged: MergedRows) -> Iterator[Fact]:
    for start in range(0, len(merged.index), _CHUNK_ROWS):
        tables, index = (column[start : start + _CHUNK_ROWS] for column in (merged.table_of, merged.index))
        facts = [_facts(of_table, index[tables == number]) for number, of_table in enumerate(merged.rows)]
        for number in tables.tolist():
            yield next(facts[number])


def _facts(rows: Rows, index: Ints) -> Iterator[Fact]:
    name = rows.table.name
    values = zip(*(column[index].tolist() for column in rows.columns), strict=True)
    tasks, times = rows.column("task")[index].tolist(), rows.times[index].tolist()
    for task, time_ns, depth, row in zip(tasks, times, rows.depths[index].tolist(), values, strict=True):
        yield Fact(name, task, time_ns, depth, row)
