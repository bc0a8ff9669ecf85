"""The facts of one task in one epoch for the laws: columns, and rows merged by ``seq`` if order matters."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise, repeat
from operator import itemgetter
from typing import Any, Protocol, TypeVar, cast

import numpy as np
import numpy.typing as npt

from flowsim.errors import BadInput
from flowsim.facts.kinds import Level
from flowsim.facts.schema import TABLES, TASK_ATTEMPT

Ints = npt.NDArray[np.integer[Any]]
Mask = npt.NDArray[np.bool_]
Row = tuple[Any, ...]
"""Values of the requested columns; integers, and text in table ``keys``."""
Part = tuple[str, tuple[str, ...]] | tuple[str, tuple[str, ...], Mask | None]
"""A table, the columns of its rows, and a row mask; without a mask all rows."""
_T = TypeVar("_T")


class Facts(Protocol):
    """Recorded facts in memory; rows are tuples in the order of the table's columns."""

    @property
    def level(self) -> Level:
        """What was recorded."""

    def rows(self, table: str) -> Sequence[tuple[int, ...]]:
        """The rows of a fact table, in the order in which they were recorded."""

    def static_rows(self, table: str) -> Sequence[tuple[int | str, ...]]:
        """The rows of a description table."""


class AttemptFacts(Facts, Protocol):
    """Recorded facts, and the attempt of each."""

    def attempt(self, task: int, seq: int) -> int:
        """The attempt of a task in which a fact was recorded."""


class Rows(Protocol):
    """The rows of one table of a slice, in the order of ``seq``."""

    def __len__(self) -> int: ...

    def column(self, name: str) -> Ints:
        """One column; integers of the width that its table declares, or wider."""

    def tuples(self, columns: Sequence[str], mask: Mask | None = None) -> list[Row]:
        """The rows for which the mask holds (all without one), as tuples of Python values."""


class ColumnRows:
    """Rows stored as columns."""

    __slots__ = ("_columns", "_rows")

    def __init__(self, columns: Mapping[str, Any], rows: int) -> None:
        self._columns = columns
        self._rows = rows

    def __len__(self) -> int:
        return self._rows

    def column(self, name: str) -> Ints:
        return cast(Ints, self._columns[name])

    def attempts(self) -> dict[int, tuple[int, int]]:
        """The first row and the end of each attempt; nothing without a column of attempts."""
        column = self._columns.get(TASK_ATTEMPT.name)
        if column is None:
            return {}
        found, starts = np.unique(column, return_index=True)
        return dict(zip(found.tolist(), pairwise([*starts.tolist(), self._rows]), strict=True))

    def part(self, start: int, end: int) -> ColumnRows:
        """The rows from ``start`` to the one before ``end``."""
        return ColumnRows({name: column[start:end] for name, column in self._columns.items()}, end - start)

    def tuples(self, columns: Sequence[str], mask: Mask | None = None) -> list[Row]:
        kept = (self._columns[name] for name in columns)
        lists = [(column if mask is None else column[mask]).tolist() for column in kept]
        return list(zip(*lists, strict=True))


class TupleRows:
    """Rows stored as tuples of all columns of their table."""

    __slots__ = ("_cache", "_names", "_rows")

    def __init__(self, names: Sequence[str], rows: list[Row]) -> None:
        self._names = names
        self._rows = rows
        self._cache: dict[str, Ints] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def column(self, name: str) -> Ints:
        found = self._cache.get(name)
        if found is None:
            place = self._names.index(name)
            found = self._cache[name] = np.array([row[place] for row in self._rows], dtype=np.int64)
        return found

    def tuples(self, columns: Sequence[str], mask: Mask | None = None) -> list[Row]:
        rows = self._rows if mask is None else [self._rows[place] for place in np.flatnonzero(mask)]
        if len(columns) == 1:
            place = self._names.index(columns[0])
            return [(row[place],) for row in rows]
        return list(map(itemgetter(*map(self._names.index, columns)), rows))


class _NoRows(TupleRows):
    """A table without rows."""

    __slots__ = ()

    def column(self, name: str) -> Ints:
        return _NO_INTS

    def tuples(self, columns: Sequence[str], mask: Mask | None = None) -> list[Row]:
        return []


_NO_INTS: Ints = np.empty(0, dtype=np.int64)
_NONE = _NoRows((), [])


def each_row(rows: Rows, columns: Sequence[str], mask: Mask | None = None) -> Iterator[Row]:
    """The same as ``rows.tuples``, one by one.

    A tuple that the loop does not store is freed at once, so the garbage collector never visits it: measured 0.2 us per
    row of 9 columns, instead of 0.4.
    """
    if not isinstance(rows, ColumnRows):
        return iter(rows.tuples(columns, mask))
    kept = (rows.column(name) for name in columns)
    return zip(*[(column if mask is None else column[mask]).tolist() for column in kept], strict=True)


class Slice:
    """The facts of one attempt of a task in one epoch."""

    __slots__ = ("attempt", "task", "_once", "_tables")

    def __init__(self, task: int, tables: Mapping[str, Rows], attempt: int = 0) -> None:
        self.task = task
        self.attempt = attempt
        self._tables = tables
        self._once: dict[object, object] = {}

    def has(self, *tables: str) -> bool:
        """Whether there are rows in one of these tables."""
        return any(table in self._tables for table in tables)

    def of(self, table: str) -> Rows:
        """The rows of one table; none where nothing was recorded in it."""
        return self._tables.get(table, _NONE)

    def merged(self, *parts: Part) -> list[tuple[int, int, Row]]:
        """Rows of several tables in the order of ``seq``: (seq, index of the part, row)."""
        merged: list[tuple[int, int, Row]] = []
        for index, (table, columns, *masks) in enumerate(parts):
            rows = self._tables.get(table)
            if rows is None:
                continue
            mask = masks[0] if masks else None
            seqs = rows.column("seq")
            kept = (seqs if mask is None else seqs[mask]).tolist()
            merged += zip(kept, repeat(index), rows.tuples(columns, mask), strict=False)
        if len(parts) > 1:
            merged.sort(key=itemgetter(0, 1))
        return merged

    def once(self, function: Callable[[Slice], _T]) -> _T:
        """The result of the function for this slice, computed once for all laws."""
        if function not in self._once:
            self._once[function] = function(self)
        return cast(_T, self._once[function])


def slices_in_memory(facts: AttemptFacts, reads: Mapping[str, set[str]]) -> Iterator[Slice]:
    """One slice per attempt of a task, with all its facts in these tables; raises BadInput if ``seq`` does not ascend.

    Attempts are separated only if ``reads`` has column ``task_attempt``.
    """
    by_task: dict[tuple[int, int], dict[str, list[Row]]] = {}
    for table, columns in reads.items():
        for key, rows in _by_attempt(facts, table, TASK_ATTEMPT.name in columns).items():
            by_task.setdefault(key, {})[table] = rows
    for task, attempt in sorted(by_task):
        found = by_task[task, attempt]
        for table, of_task in found.items():
            if "seq" in TABLES[table].names:
                _check_order(task, table, of_task)
        yield Slice(task, {name: TupleRows(TABLES[name].names, rows) for name, rows in found.items()}, attempt)


def _by_attempt(facts: AttemptFacts, table: str, separate: bool) -> Mapping[tuple[int, int], list[Row]]:
    """The rows of a table by task and attempt; attempt 0 if attempts are not separate."""
    names = TABLES[table].names
    place = names.index("task")
    if separate and "seq" in names:
        seq = names.index("seq")
        by_attempt: dict[tuple[int, int], list[Row]] = defaultdict(list)
        for row in facts.rows(table):
            by_attempt[row[place], facts.attempt(row[place], row[seq])].append(row)
        return by_attempt
    by_task: dict[int, list[Row]] = defaultdict(list)
    rows: Sequence[Row] = facts.rows(table) if "seq" in names else facts.static_rows(table)
    for row in rows:
        by_task[row[place]].append(row)
    return {(task, 0): rows for task, rows in by_task.items()}


def slices_of_attempts(task: int, tables: Mapping[str, ColumnRows]) -> Iterator[Slice]:
    """One slice per attempt of a task; attempts are separated only if the tables have column ``task_attempt``."""
    bounds = {table: rows.attempts() for table, rows in tables.items()}
    attempts = sorted({attempt for of_table in bounds.values() for attempt in of_table}) or [0]
    if len(attempts) == 1:
        yield Slice(task, tables, *attempts)
        return
    described = {table: rows for table, rows in tables.items() if not bounds[table]}
    for attempt in attempts:
        of_attempt = {
            table: rows.part(*bounds[table][attempt]) for table, rows in tables.items() if attempt in bounds[table]
        }
        yield Slice(task, described | of_attempt if attempt == attempts[0] else of_attempt, attempt)


def _check_order(task: int, table: str, rows: list[Row]) -> None:
    seqs = list(map(itemgetter(TABLES[table].names.index("seq")), rows))
    if seqs != sorted(seqs):
        raise BadInput(f"the recording is damaged: seq of task {task} does not ascend in table {table}")
