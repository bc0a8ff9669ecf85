"""Watermarks and statuses of a slice: few of them as rows, many as columns. Use the functions with ``Slice.once``."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np

from flowsim.laws.event_time.paths import STATUS, WATERMARK
from flowsim.laws.slices import Ints, Mask, Rows, Slice

FEW: Final = 100
"""Up to so many rows are examined faster one by one than as columns."""
_FEWER: Final = 40
"""The same for rows most of which are records."""

Mark = tuple[int, int, int]
"""Sequence number, kind (WATERMARK or STATUS), and timestamp or status."""
_MARK: Final = ("seq", "kind", "timestamp")
_MARKS: Final = (WATERMARK, STATUS)


class Marks:
    """Marks of one place, in order; rows or columns are made when they are first asked for."""

    __slots__ = ("_columns", "_rows")

    def __init__(self, rows: Sequence[Mark] | None = None, columns: tuple[Ints, Ints, Ints] | None = None) -> None:
        self._rows = rows
        self._columns = columns

    def __len__(self) -> int:
        if self._rows is not None:
            return len(self._rows)
        return 0 if self._columns is None else len(self._columns[0])

    @property
    def rows(self) -> Sequence[Mark]:
        """The marks as tuples."""
        if self._rows is None:
            columns = self._columns or ()
            self._rows = list(zip(*(column.tolist() for column in columns), strict=True))
        return self._rows

    @property
    def columns(self) -> tuple[Ints, Ints, Ints]:
        """Their sequence numbers, kinds and values."""
        if self._columns is None:
            table = np.array(self._rows or np.empty((0, 3)), dtype=np.int64)
            self._columns = table[:, 0], table[:, 1], table[:, 2]
        return self._columns

    def has_status(self) -> bool:
        """Whether one of them is a status."""
        if self._columns is None:
            return any(kind == STATUS for _, kind, _ in self.rows)
        return bool((self._columns[1] == STATUS).any())

    def first(self, kind: int, value: int) -> int | None:
        """The sequence number of the first that is this one."""
        if len(self) <= FEW:
            return next((mark[0] for mark in self.rows if mark[1:] == (kind, value)), None)
        seqs, kinds, values = self.columns
        found = np.flatnonzero((kinds == kind) & (values == value))
        return int(seqs[found[0]]) if len(found) else None

    def statuses(self) -> list[Mark]:
        """Those that are statuses."""
        return [mark for mark in self.rows if mark[1] == STATUS] if self.has_status() else []


NO_MARKS: Final = Marks(())


class SentMarks(NamedTuple):
    """The marks that a task sent."""

    by_channel: dict[int, Marks]
    watermarks: int
    statuses: int


_NOTHING_SENT: Final = SentMarks({}, 0, 0)


def sent_event_time(facts: Slice) -> SentMarks:
    """The watermarks and statuses that the task sent, by channel."""
    rows = facts.of("sent")
    if len(rows) <= _FEWER:
        return _few_sent(rows) if len(rows) else _NOTHING_SENT
    kind = rows.column("kind")
    is_status = kind == STATUS
    mask = is_status | (kind == WATERMARK)
    count = int(np.count_nonzero(mask))
    if not count:
        return _NOTHING_SENT
    statuses = int(np.count_nonzero(is_status))
    return SentMarks(_by_place(rows, "channel", mask, count), count - statuses, statuses)


def _few_sent(rows: Rows) -> SentMarks:
    found: dict[int, list[Mark]] = {}
    count = statuses = 0
    for channel, seq, kind, value in rows.tuples(("channel", *_MARK)):
        if kind in _MARKS:
            count += 1
            statuses += kind == STATUS
            found.setdefault(channel, []).append((seq, kind, value))
    return SentMarks({channel: Marks(marks) for channel, marks in found.items()}, count - statuses, statuses)


def generated_event_time(facts: Slice) -> dict[int, Marks]:
    """The watermarks and statuses that operators generated, not those of single splits, by operator."""
    rows = facts.of("generated_watermark")
    if not len(rows):
        return {}
    if len(rows) > FEW:
        mask = rows.column("split") == -1
        count = int(np.count_nonzero(mask))
        return _by_place(rows, "operator", mask, count) if count else {}
    found: dict[int, list[Mark]] = {}
    for operator, split, seq, kind, value in rows.tuples(("operator", "split", *_MARK)):
        if split == -1:
            found.setdefault(operator, []).append((seq, kind, value))
    return {operator: Marks(marks) for operator, marks in found.items()}


def arrived_event_time(facts: Slice) -> Marks:
    """What all inputs of the task emitted."""
    return marks_of(facts.of("task_watermark"))


def marks_of(rows: Rows) -> Marks:
    """All rows of a table as marks."""
    if len(rows) <= FEW:
        return Marks(rows.tuples(_MARK)) if len(rows) else NO_MARKS
    seq, kind, value = map(rows.column, _MARK)
    return Marks(columns=(seq, kind, value))


def _by_place(rows: Rows, place: str, mask: Mask, count: int) -> dict[int, Marks]:
    if count <= FEW:
        found: dict[int, list[Mark]] = {}
        for where, *mark in rows.tuples((place, *_MARK), mask):
            found.setdefault(where, []).append(tuple(mark))
        return {where: Marks(marks) for where, marks in found.items()}
    if count < len(rows):
        where, *columns = (rows.column(name)[mask] for name in (place, *_MARK))
    else:
        where, *columns = (rows.column(name) for name in (place, *_MARK))
    lowest, highest = int(where.min()), int(where.max())
    if lowest == highest:
        seq, kind, value = columns
        return {lowest: Marks(columns=(seq, kind, value))}
    # A stable sort is a fast one for 16-bit integers.
    order = np.argsort((where - lowest).astype(np.int16) if highest - lowest < 2**15 else where, kind="stable")
    where = where[order]
    seq, kind, value = (column[order] for column in columns)
    starts = [0, *(np.flatnonzero(where[1:] != where[:-1]) + 1).tolist(), count]
    return {
        int(where[start]): Marks(columns=(seq[start:end], kind[start:end], value[start:end]))
        for start, end in pairwise(starts)
    }
