"""Compares expected rows of a model with recorded rows, as multisets, and stores only the differences."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator
from typing import NamedTuple

Row = tuple[int, ...]


class Difference(NamedTuple):
    """A row that is only expected (``recorded`` is None), only recorded, or both, with other values."""

    expected: Row | None
    recorded: Row | None
    seq: int


class Unmatched:
    """Rows of one table that are expected and not recorded so far, or recorded and not expected so far."""

    __slots__ = ("_cause", "_latest", "_surplus")

    def __init__(self) -> None:
        self._surplus: dict[Row, tuple[int, int]] = {}
        """How many more times a row was expected than recorded, and the sequence number where that began."""
        self._cause = -1
        self._latest: list[Row] = []
        """The effects of the last cause."""

    def expect(self, row: Row, cause: int, certain: bool = False) -> None:
        """``cause``: sequence number of the causing row; ``certain``: even if the recording ends right there."""
        if not certain:
            if cause != self._cause:
                self._cause = cause
                self._latest = []
            self._latest.append(row)
        before = self._surplus.pop(row, None)
        if before is None:
            self._surplus[row] = 1, cause
        elif before[0] != -1:
            self._surplus[row] = before[0] + 1, before[1]

    def record(self, row: Row, seq: int) -> None:
        before = self._surplus.pop(row, None)
        if before is None:
            self._surplus[row] = -1, seq
        elif before[0] != 1:
            self._surplus[row] = before[0] - 1, before[1]

    def settle(self, last_cause: int | None, subject: Callable[[Row], Row]) -> Iterator[Difference]:
        """Once per missing or unexpected row; a missing and an unexpected row of one subject are one difference.

        ``last_cause``: of a prefix, the last intake or watermark; its effects may be missing.
        """
        excused = Counter(self._latest if self._cause == last_cause else ())
        missing: dict[Row, deque[tuple[Row, int]]] = {}
        unexpected: list[tuple[Row, int]] = []
        for row, (surplus, seq) in self._surplus.items():
            if surplus < 0:
                unexpected += [(row, seq)] * -surplus
            elif surplus > excused[row]:
                missing.setdefault(subject(row), deque()).extend([(row, seq)] * (surplus - excused[row]))
        for row, seq in unexpected:
            waiting = missing.get(subject(row))
            yield Difference(waiting.popleft()[0] if waiting else None, row, seq)
        for rows in missing.values():
            for row, seq in rows:
                yield Difference(row, None, seq)
