"""Of law async-retries: how often, and when, the function is called for an element (rules 11.24, 11.25, 11.27, 11.28)."""

from __future__ import annotations

from typing import Final

from flowsim.facts.kinds import ElementKind
from flowsim.laws.async_wait.element import Element
from flowsim.laws.async_wait.places import NEVER, RETRY, Place
from flowsim.laws.law import Findings
from flowsim.laws.slices import Row

ID: Final = "async-retries"
COUNTS: Final = """\
- Rows examined: PUT rows of kind RECORD, INVOKE and RETRY rows of `async_elements`.
- An INVOKE row is *at the end* when no PUT and no RETRY row of its place comes after it (rules 11.27, 11.28). It is a
  violation (once) when
  - no PUT row of its entry came before; or
  - `attempt` is not 1 more than the number of INVOKE rows of the entry before; or, when it is above 1:
  - the place does not retry;
  - it is not at the end, and no RETRY row of the entry with `attempt` less 1 came before, or an outcome did;
  - `attempt` - 1 is above the limit, or at the end above the limit plus 1.
- A RETRY row is a violation (once) when the place does not retry, or `attempt` is not the number of INVOKE rows of the
  entry before, or is above the limit; or a RETRY row of the entry with the same attempt, a TIMEOUT row of it or its
  outcome came before.
- 1 for each entry of kind RECORD that was put and has no INVOKE row until it is emitted, where a PUT row of the place or its
  end comes after its put. After the emission of an element a first call or a RETRY is a violation, and a further call is
  allowed only at the end and within the limit.
"""
_RECORD: Final = int(ElementKind.RECORD)


class Retries:
    """Looks at the calls of an element and at its retries; its rows have the columns of ``elements.COLUMNS``.

    At the end, after the last element was put and the last retry was scheduled, the operator may call the function once
    more for an element without a retry (rules 11.27, 11.28). So such calls are kept until the next put or retry.
    """

    __slots__ = ("_found", "_place", "_put", "_unless_at_the_end")

    def __init__(self, place: Place, found: Findings) -> None:
        self._place = place
        self._found = found
        self._put = -1
        """Sequence number of the last PUT."""
        self._unless_at_the_end: list[Row] = []

    def _broken(self, what: str, row: Row, **where: object) -> None:
        where = {**self._place.where(row[0], row[2], row[3]), "attempt": row[7], **where}
        self._found.broken(what, (self._place.task, row[0]), **where)

    def put(self, seq: int) -> None:
        """An element is put."""
        self._put = seq
        if self._unless_at_the_end:
            self._not_at_the_end()

    def _not_at_the_end(self) -> None:
        for row in self._unless_at_the_end:
            self._broken("called again, but no retry was due", row)
        self._unless_at_the_end.clear()

    def invoke(self, element: Element, row: Row) -> None:
        """A call of the function."""
        attempt = row[7]
        element.calls += 1
        if element.put < 0:
            self._broken("called before the element was put", row)
        elif attempt != element.calls:
            self._broken("attempts are not numbered 1, 2, 3", row, expected_attempt=element.calls)
        elif attempt > 1:
            due = element.retries is not None and attempt - 1 in element.retries and element.outcome < 0
            self._again(row, due)

    def _again(self, row: Row, due: bool) -> None:
        retries = row[7] - 1
        if not self._place.retries:
            self._broken("called again without a retry strategy", row)
        elif retries > self._place.limit + 1:
            self._broken("called too often", row, limit=self._place.limit + 2)
        elif not due or retries > self._place.limit:
            self._unless_at_the_end.append(row)

    def retry(self, element: Element, row: Row) -> None:
        """An element begins to wait for a retry."""
        attempt, retries = row[7], element.retries
        if retries is None:
            retries = element.retries = set()
        if self._unless_at_the_end:
            self._not_at_the_end()
        if not self._place.retries:
            self._broken("waits for a retry without a retry strategy", row)
        elif attempt != element.calls:
            self._broken("waits for a retry after another attempt than the last", row, expected_attempt=element.calls)
        elif attempt > self._place.limit:
            self._broken("waits for one retry too many", row, limit=self._place.limit)
        elif attempt in retries:
            self._broken("waits for the same retry again", row)
        elif element.timed_out or element.outcome >= 0:
            self._broken("waits for a retry after its timeout or outcome", row)
        retries.add(attempt)

    def after_emission(self, row: Row) -> None:
        """INVOKE or RETRY of an element that was emitted: how often the function was called for it is not known."""
        if row[3] == RETRY:
            self._not_at_the_end()
            self._broken("waits for a retry after its emission", row)
        elif row[7] <= 1:
            self._broken("called for the first time after its emission", row)
        else:
            self._again(row, False)

    def emit(self, element: Element, entry: int) -> None:
        """The function was called for a record before the record is emitted."""
        if not element.calls and element.kind == _RECORD:
            self._never_called(element, entry)

    def left(self, element: Element, entry: int) -> None:
        """An element that was put and never emitted; the last one may be about to be passed to the function."""
        later = self._put > element.put or NEVER > self._place.end > element.put
        if not element.calls and element.kind == _RECORD and later:
            self._never_called(element, entry)

    def _never_called(self, element: Element, entry: int) -> None:
        self._found.broken(
            "the function was never called", (self._place.task, element.put), task=self._place.task,
            operator=self._place.number, seq=element.put, entry=entry,
        )  # fmt: skip
