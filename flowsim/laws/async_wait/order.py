"""Of law async-order: no element overtakes another one that must be emitted before it (rules 11.5-11.11)."""

from __future__ import annotations

from typing import Final

import numpy as np

from flowsim.facts.kinds import ElementKind
from flowsim.laws.async_wait.element import Element
from flowsim.laws.async_wait.places import Place, Steps, after, broken_rows
from flowsim.laws.law import Findings

ID: Final = "async-order"
COUNTS: Final = """\
- Rows examined: PUT and EMIT rows of `async_elements`.
- *Numbers*: a PUT row of a place is a violation when its entry is not one more than that of the PUT row before it, or,
  as the first one, not 0.
- *Overtaken*: 1 for each entry that was put and that another one that was put overtakes. Ordered, the *rank* of an entry
  is its number. Unordered, it is twice the number of entries of kind WATERMARK that were put before it, plus 1 when it is a
  WATERMARK itself. An EMIT row before the put does not count, nor does an outcome after the emission. Entry f overtakes
  entry e when f has an EMIT row, which has a lower seq than the emission of e (or e has none), and
  - the rank of f is higher than that of e; or
  - the operator is unordered and of the mailbox design, the ranks are equal, both have outcomes, and that of f has the
    higher seq (rules 11.9, 11.11: within a segment they leave as they were done).
- *Arrivals*, where the operator is the head (`input_operator` -1) of a task with one input: RECORD rows of `received`
  and WATERMARK rows of `task_watermark` of the task, those before the end of the place. Each *owns* the PUT rows behind
  the opening that lie between it and the next arrival. It is a violation (once) unless it owns exactly one, of its own
  kind and timestamp and, for a record, its fingerprint; the last one may own none where the place has no end. And 1 for
  each PUT row behind the opening and before the first arrival.
"""
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
