"""Part of law async-order: no element overtakes one that must be emitted before it (rules 11.5-11.11)."""

from __future__ import annotations

from typing import Final

from flowsim.facts.kinds import ElementKind
from flowsim.laws.async_wait.places import Check, Element, Place, Step
from flowsim.laws.findings import Findings

ID: Final = "async-order"
COUNTS: Final = """\
- Rows examined: PUT and EMIT rows of `async_elements`.
- **Numbers.** A PUT row of a place is a violation when its entry is not that of the PUT row before + 1 (first PUT row:
  not 0).
- **Order.** 1 for each entry that was put and that another put entry overtakes. The *rank* of an entry in an ordered
  operator is its number. In an unordered operator, it is twice the number of entries of kind WATERMARK that were put
  before it, plus 1 if it is itself a WATERMARK. Entry f *overtakes* entry e if f has an emission, e has none or a later
  one, and
  - the rank of f is higher than the rank of e;
  - the ranks are equal, the operator is unordered and of the mailbox design, both entries have outcomes, and the
    outcome of f is after that of e. (Rules 11.9, 11.11: in a segment, entries leave in the order of completion.) An
    outcome after the emission of its entry does not count.
- **Arrivals**, only if the operator is the head of a task with one input, without `params.batch`. The arrivals are the
  RECORD rows of `received` and the WATERMARK rows of `task_watermark` of the task before the end of the place. An arrival
  *owns* the PUT rows after the opening that are between the arrival and the next arrival. Violations:
  - each arrival that does not own exactly one PUT row, with its own kind and timestamp and (for a record) its
    fingerprint. The last arrival may own none if the place has no end;
  - each PUT row after the opening and before the first arrival.
"""
_WATERMARK: Final = int(ElementKind.WATERMARK)


class Order(Check):
    """Compares the order in which elements are put and emitted with the guaranteed order."""

    __slots__ = ("_by_outcome", "_furthest", "_latest", "_next", "_watermarks")

    def __init__(self, place: Place, found: Findings) -> None:
        super().__init__(place, found)
        self._next = 0
        self._watermarks = 0
        self._by_outcome = not place.ordered and not place.legacy
        """Whether elements of one rank are emitted in the order of their outcomes (rules 11.9, 11.11)."""
        self._furthest = -1
        """The highest rank emitted, ..."""
        self._latest = -1
        """... and the latest outcome among the elements of that rank."""

    def number(self, put: Step) -> None:
        """Each element waits for its place in the queue before the next one arrives, so numbers are consecutive."""
        if put.entry != self._next:
            self.broken("an element is put in the wrong order", put, expected=self._next)
        self._next = put.entry + 1

    def rank(self, put: Step) -> int:
        """Ordered: the number of the element. Unordered: that of its segment (rules 11.6-11.8)."""
        if self.place.ordered:
            return put.entry
        is_watermark = put.kind == _WATERMARK
        rank = 2 * self._watermarks + is_watermark
        self._watermarks += is_watermark
        return rank

    def emit(self, element: Element) -> None:
        """An element leaves the queue."""
        self.left(element)
        outcome = element.outcome.seq if element.outcome is not None else -1
        if element.rank > self._furthest:
            self._furthest, self._latest = element.rank, outcome
        elif element.rank == self._furthest and outcome > self._latest:
            self._latest = outcome

    def left(self, element: Element) -> None:
        """Whether an element was overtaken is known only when it leaves, or at the end."""
        if element.rank > self._furthest or element.put is None:
            return
        if element.rank == self._furthest:
            outcome = element.outcome
            if not self._by_outcome or outcome is None or outcome.seq >= self._latest:
                return
        self.broken("an element was overtaken", element.put, rank=element.rank, rank_emitted_before=self._furthest)
