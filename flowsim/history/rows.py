"""Rows of one table of facts, and indexes of the table by the values of its columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Final

import numpy as np
import numpy.typing as npt

from flowsim.recording.parquet_part import as_numpy
from flowsim.recording.reader import Recording

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Row = Mapping[str, int]

_COMPARED: Final = 8
"""So many times the columns of a table are compared one by one; then they get an index."""
_WIDE: Final = 1 << 32
_MOST_CODES: Final = 1 << 62


class Rows:
    """Rows of one table in the order of ``seq``, of one task; or of all tasks, task by task.

    Rows that were selected from others share their columns.
    """

    __slots__ = ("_at", "_length", "_seqs", "_table")

    def __init__(self, columns: dict[str, Ints]) -> None:
        self._table = _IndexedTable(columns)
        self._seqs: Ints | None = None
        self._length = len(next(iter(columns.values())))
        self._at: slice | Ints = slice(0, self._length)

    def _selected(self, at: slice | Ints) -> Rows:
        rows = object.__new__(Rows)
        rows._table, rows._at, rows._seqs = self._table, at, None
        rows._length = at.stop - at.start if isinstance(at, slice) else len(at)
        return rows

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, column: str) -> Ints:
        return self._table.columns[column][self._at]

    def __iter__(self) -> Iterator[Row]:
        names = list(self._table.columns)
        for values in zip(*(self[name].tolist() for name in names), strict=True):
            yield dict(zip(names, values, strict=True))

    def where(self, mask: Mask) -> Rows:
        found = np.flatnonzero(mask)
        return self._selected(found + self._at.start if isinstance(self._at, slice) else self._at[found])

    def equal(self, **values: int) -> Rows:
        """The rows with these values."""
        if isinstance(self._at, slice):
            index = self._table.index(tuple(values))
            if index is not None:
                found = index.find(tuple(values.values()))
                begin, end = (int(found.searchsorted(bound)) for bound in (self._at.start, self._at.stop))
                return self._selected(found[begin:end])
        mask: Mask = np.ones(self._length, dtype=np.bool_)
        for name, value in values.items():
            mask &= self[name] == value
        return self.where(mask)

    def before(self, seq: int) -> Rows:
        """The rows of one task before a fact."""
        return self.cut(0, int(self._seq_column().searchsorted(seq)))

    def after(self, seq: int) -> Rows:
        """The rows of one task after a fact."""
        return self.cut(int(self._seq_column().searchsorted(seq, side="right")), self._length)

    def _seq_column(self) -> Ints:
        if self._seqs is None:
            self._seqs = self["seq"]
        return self._seqs

    def cut(self, begin: int, end: int) -> Rows:
        if not isinstance(self._at, slice):
            return self._selected(self._at[begin:end])
        first, last = (min(max(0, bound), self._length) + self._at.start for bound in (begin, end))
        return self._selected(slice(first, max(first, last)))

    def in_order(self, order: Ints) -> Rows:
        """The rows by their numbers."""
        return self._selected(order + self._at.start if isinstance(self._at, slice) else self._at[order])

    def row(self, number: int) -> Row:
        if number < 0:
            number += self._length
        if not 0 <= number < self._length:
            raise IndexError(number)
        at = self._at.start + number if isinstance(self._at, slice) else self._at.item(number)
        return _TableRow(self._table.columns, at)

    def first(self) -> Row | None:
        return self.row(0) if self._length else None

    def last(self) -> Row | None:
        return self.row(-1) if self._length else None


class _TableRow(Mapping[str, int]):
    """One row of a table; a value is read when it is asked for."""

    __slots__ = ("_at", "_columns")

    def __init__(self, columns: dict[str, Ints], at: int) -> None:
        self._columns, self._at = columns, at

    def __getitem__(self, column: str) -> int:
        return self._columns[column].item(self._at)

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)


class _IndexedTable:
    """The columns of a table. Columns that are compared often get an index."""

    __slots__ = ("_asked", "_indexes", "columns")

    def __init__(self, columns: dict[str, Ints]) -> None:
        self.columns = columns
        self._asked: Counter[tuple[str, ...]] = Counter()
        self._indexes: dict[tuple[str, ...], _Index | None] = {}

    def index(self, names: tuple[str, ...]) -> _Index | None:
        """The index by these columns; None: there is none yet, or their values are too many."""
        if names not in self._indexes:
            self._asked[names] += 1
            if self._asked[names] <= _COMPARED:
                return None
            self._indexes[names] = _index_of([self.columns[name] for name in names])
        return self._indexes[names]


class _Index:
    """The numbers of the rows by one code for their values: ascending for each code."""

    __slots__ = ("_codes", "_columns", "_numbers")

    def __init__(self, columns: list[_CodedColumn]) -> None:
        self._columns = columns
        codes: Ints = np.zeros(len(columns[0].codes), dtype=np.int64)
        for column in columns:
            codes = codes * column.size + column.codes
        self._numbers: Ints = np.argsort(codes, kind="stable")
        self._codes = codes[self._numbers]

    def find(self, values: tuple[int, ...]) -> Ints:
        code = 0
        for value, column in zip(values, self._columns, strict=True):
            of_value = column.code(value)
            if of_value is None:
                return self._numbers[:0]
            code = code * column.size + of_value
        first = self._codes.searchsorted(code)
        return self._numbers[first : self._codes.searchsorted(code, side="right")]


class _CodedColumn:
    """A column as codes from 0: its values less the least one, or in a wide range their ranks."""

    __slots__ = ("_least", "_ranked", "codes", "size")

    def __init__(self, values: Ints) -> None:
        self._least, most = int(values.min()), int(values.max())
        self.size = most - self._least + 1
        self._ranked: Ints | None = None
        self.codes: Ints = values
        if self.size > _WIDE:
            self._ranked, self.codes = np.unique(values, return_inverse=True)
            self.size = len(self._ranked)
        elif self._least:
            self.codes = values - self._least

    def code(self, value: int) -> int | None:
        if self._ranked is not None:
            rank = int(self._ranked.searchsorted(value))
            return rank if rank < self.size and self._ranked[rank] == value else None
        return value - self._least if 0 <= value - self._least < self.size else None


def recorded_rows(recording: Recording, table: str, names: Sequence[str]) -> Rows:
    """Some columns of a fact table, in the order in which the rows were recorded. Raises BadInput for a damaged part."""
    parts = [recording.part(table, epoch, names) for epoch in range(len(recording.epochs))]
    columns: dict[str, Ints] = {}
    for name in names:
        pieces = [as_numpy(part[name]).astype(np.int64, copy=False) for part in parts]
        columns[name] = np.concatenate(pieces) if pieces else np.empty(0, dtype=np.int64)
    return Rows(columns)


def rows_by_task(recording: Recording, table: str, names: Sequence[str]) -> Rows:
    """Some columns of all rows of a table, task by task; ``names``: with ``seq`` and ``task``."""
    rows = recorded_rows(recording, table, names)
    return rows.in_order(np.lexsort((rows["seq"], rows["task"])))


def first_row(rows: Rows) -> Row | None:
    """The first row by time; of those at one instant that of the first task."""
    if not len(rows):
        return None
    earliest = rows.where(rows["time_ns"] == rows["time_ns"].min())
    return earliest.row(int(np.lexsort((earliest["seq"], earliest["task"]))[0]))


def alike(*columns: Ints | Mask) -> Iterator[Ints]:
    """The numbers of the rows with each combination of values, by the first row that has it."""
    if not len(columns[0]):
        return
    codes: Ints = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        if (column != column[0]).any():
            values, codes_of_column = np.unique(column, return_inverse=True)
            codes = np.unique(codes * len(values) + codes_of_column, return_inverse=True)[1]
    for code in np.unique(codes)[np.argsort(np.unique(codes, return_index=True)[1])].tolist():
        yield np.flatnonzero(codes == code)


def last_with(values: Ints, wanted: Ints, before: Ints) -> Ints:
    """For each wanted value the number of the last row with it before a row number; -1: there is none."""
    unique, codes = np.unique(values, return_inverse=True)
    if not len(unique):
        return np.full(len(wanted), -1)
    # Value and row number as one number: ascending, as the rows of each value are in their order.
    size = len(values) + 1
    order = np.argsort(codes, kind="stable")
    ranks = codes[order] * size + order
    code = np.minimum(unique.searchsorted(wanted), len(unique) - 1)
    at = ranks.searchsorted(code * size + before) - 1
    found = np.where(at >= 0, order[at], -1)
    return np.where((found >= 0) & (values[found] == wanted), found, -1)


def _index_of(columns: list[Ints]) -> _Index | None:
    if not columns or not len(columns[0]):
        return None
    coded = [_CodedColumn(column) for column in columns]
    return _Index(coded) if prod(column.size for column in coded) < _MOST_CODES else None
