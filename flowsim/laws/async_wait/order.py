"""Of law async-order: no element overtakes another one that must be emitted before it (rules 11.5-11.11)."""

from __future__ import annotations

from typing import Final

import numpy as np

from flowsim.facts.kinds import ElementKind
from flowsim.laws.async_wait.element import Element
from flowsim.laws.async_wait.places import Place, Steps, after, broken_rows
from flowsim.laws.law import Findings

ID: Final = "async-order"
_WATERMARK: Final = int(ElementKind.WATERMARK)


class Order:
    """Compares the order in which elements are put and emitted with the one that the operator guarantees."""

    __slots__ = ("_by_outcome", "_found", "_furthest", "_latest", "_next", "_place", "_watermarks")

    def __init__(self, place: Place, found: Findings) -> None:
        self._place = place
        self._found = found
        self._next = 0
        self._watermarks = 0
        self._by_outcome = not place.ordered and not place.legacy
        """Whether elements of one rank are emitted in the order of their outcomes (rules 11.9, 11.11)."""
        self._furthest = -1
        """The highest rank emitted, ..."""
        self._latest = -1
        """... and the latest outcome among the elements of that rank."""

    def feed(self, steps: Steps) -> None:
        """Each element waits for its place in the queue before the next one arrives, so numbers follow one another."""
        numbers = steps.entry[steps.puts]
        if not len(numbers):
            return
        expected = after(self._next, numbers + 1)
        self._next = int(numbers[-1]) + 1
        for place in broken_rows(self._found, numbers != expected):
            row = int(np.flatnonzero(steps.puts)[place])
            at = (self._place.task, int(steps.seq[row]))
            self._found.broken("put out of turn", at, **steps.where(self._place, row), expected=int(expected[place]))

    def rank(self, entry: int, kind: int) -> int:
        """Ordered: the number of the element. Unordered: that of its segment (rules 11.6-11.8)."""
        if self._place.ordered:
            return entry
        is_watermark = kind == _WATERMARK
        rank = 2 * self._watermarks + is_watermark
        self._watermarks += is_watermark
        return rank

    def emit(self, element: Element, entry: int) -> None:
        """An element leaves the queue."""
        self.left(element, entry)
        if element.rank > self._furthest:
            self._furthest, self._latest = element.rank, element.outcome
        elif element.rank == self._furthest and element.outcome > self._latest:
            self._latest = element.outcome

    def left(self, element: Element, entry: int) -> None:
        """Whether an element was overtaken is known when it leaves, or at the end."""
        if element.rank > self._furthest:
            return
        if element.rank == self._furthest and not (self._by_outcome and 0 <= element.outcome < self._latest):
            return
        self._found.broken(
            "overtaken", (self._place.task, element.put), task=self._place.task, operator=self._place.number,
            seq=element.put, entry=entry, rank=element.rank, rank_emitted_before=self._furthest,
        )  # fmt: skip
