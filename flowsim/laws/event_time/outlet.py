"""Of law task-watermark: what leaves an async operator, held against what its readers get (rules 11.2, 11.3)."""

from __future__ import annotations

from typing import Final

import numpy as np

from flowsim.laws.event_time.lanes import LAST, Place
from flowsim.laws.event_time.marks import Mark
from flowsim.laws.event_time.paths import WATERMARK, Announced, Emission, name_of
from flowsim.laws.law import Findings
from flowsim.laws.slices import Ints

LEFT: Final = 0
"""A watermark left the queue."""
CHANGED: Final = 1
"""A status overtook the queue."""
MARK: Final = 2
"""A reader got a mark."""
Step = tuple[int, int, int, int, int]
"""Sequence number, which of the above, the index of the reader, kind and value."""


class Reader:
    """A channel behind the queue, or the queue of an operator behind it, which takes no statuses."""

    __slots__ = ("_found", "_place", "_takes_statuses", "marks")

    def __init__(self, found: Findings, place: Place, takes_statuses: bool) -> None:
        self._found = found
        self._place = place
        self._takes_statuses = takes_statuses
        self.marks: list[Mark] = []
        """What it got since the last cause."""

    def settle(self, cause: int, emitted: list[Emission], perhaps: list[Emission], is_over: bool) -> None:
        """Compares the marks with what the cause emitted; ``perhaps``: what may follow."""
        owed = [one for one in emitted if one[0] == WATERMARK or self._takes_statuses]
        count, place = len(owed), 0
        both = owed + perhaps
        for seq, kind, value in self.marks:
            if place < len(both) and both[place] == (kind, value):
                place += 1
                continue
            self._found.broken(
                "no cause for this mark", (self._place["task"], seq), **self._place, seq=seq,
                expected=[name_of(*one) for one in owed[place:]], found=name_of(kind, value),
            )  # fmt: skip
        self.marks = []
        if place < count and is_over:
            self._found.broken(
                "not sent", (self._place["task"], cause), **self._place, seq=cause,
                expected=[name_of(*one) for one in owed[place:]],
            )  # fmt: skip


class Outlet:
    """What an async operator emits, cause by cause.

    An element that leaves the queue is recorded after its emission, so a watermark belongs to the cause before that row.
    ``has_causes``: statuses that overtake the queue are called for; else those of the reader itself count.
    """

    __slots__ = ("_announced", "_cause", "_emitted", "_has_causes", "end_at", "readers")

    def __init__(self, has_causes: bool) -> None:
        self._has_causes = has_causes
        self._cause = -1
        self._emitted: list[Emission] = []
        self._announced = Announced()
        self.readers: list[Reader] = []
        self.end_at: int | None = None
        """The first cause that emits the last watermark of all."""

    def follow(self, steps: list[Step], records: Ints) -> None:
        """The steps of one epoch, in order; ``records`` says when records left the queue."""
        last = np.searchsorted(records, [step[0] for step in steps]) - 1
        for (seq, what, who, kind, value), row in zip(steps, last.tolist(), strict=True):
            if row >= 0 and records[row] > self._cause:
                self._next(int(records[row]))
            if what == MARK:
                self.readers[who].marks.append((seq, kind, value))
            elif what == LEFT:
                self._emit(kind, value)
                self._next(seq)
            else:
                self._next(seq)
                passed = self._announced.passing(((kind, value),))
                self._emitted += passed if self._has_causes else ()
        if len(records) and records[-1] > self._cause:
            self._next(int(records[-1]))

    def _emit(self, kind: int, value: int) -> None:
        passed = self._announced.passing(((kind, value),))
        self._emitted += passed
        if LAST in passed and self.end_at is None:
            self.end_at = max(self._cause, 0)

    def _next(self, seq: int) -> None:
        for reader in self.readers:
            if self._emitted or reader.marks:
                reader.settle(self._cause, self._emitted, [], True)
        self._cause, self._emitted = seq, []

    def end(self, whole: bool, next_mark: int | None) -> None:
        """``next_mark``: the watermark that leaves the queue next, which a prefix may show only behind it."""
        perhaps: list[Emission] = []
        if not whole and next_mark is not None:
            perhaps = self._announced.passing(((WATERMARK, next_mark),))
            if perhaps == [LAST] and self.end_at is None:
                self.end_at = max(self._cause, 0)
        for reader in self.readers:
            reader.settle(self._cause, self._emitted, perhaps, whole)
