"""Of law async-once: each element has one outcome, and is emitted once, with its results (rules 11.12-11.19)."""

from __future__ import annotations

from typing import Final

from flowsim.facts.kinds import ElementKind
from flowsim.laws.async_wait.element import Element
from flowsim.laws.async_wait.places import EMIT, NEVER, TIMEOUT, Place
from flowsim.laws.law import Findings
from flowsim.laws.slices import Row
from flowsim.units import MAX_WATERMARK, NS_PER_MS

ID: Final = "async-once"
COUNTS: Final = """\
- Rows examined: PUT, COMPLETE, FAIL, TIMEOUT and EMIT rows of `async_elements`.
- Each of these is a violation (once) when
  - it is of no place;
  - COMPLETE, FAIL: its kind is not RECORD, or it is not the outcome of its entry; or, in the mailbox design, no PUT row
    of the entry came before (in the legacy design time may run out for one that still waits for its place, rule 11.31);
  - TIMEOUT: `timeout_ms` is 0, or a TIMEOUT row of the entry came before; or, in the mailbox design, an outcome of the
    entry came before (rule 11.18), no PUT row of it did, or it is too early: the whole milliseconds of its `time_ns` are
    not above those of the `time_ns` of the put, plus `timeout_ms` (rules 9.10, 11.1; a sum above `MAX` is none);
  - EMIT: it is not the emission of its entry; or no PUT row of the entry came before, or the put has another kind or
    timestamp; or it is of kind RECORD and no outcome came before, or the outcome has other `rows` or another
    `fingerprint` (only asked where the outcome's `rows` are not -1: not known yet); or it is of kind WATERMARK, and
    `rows` is not 0.
- A COMPLETE, FAIL or TIMEOUT row after the emission of its entry is a violation; an EMIT row before the put is one, too, and
  has no other effect.
- 1 for each entry that was put and has no EMIT row, where the place has an end.
- *Readers* of the main output are the edges without `side_output` of the operator (one reader; of partitioner BROADCAST
  each channel is one) and the async operators that it feeds in its chain (`input_operator`, `input_tag` ''). What a
  reader *got* are the RECORD rows of `sent` on the channels of this task; or the PUT rows of kind RECORD of the other
  async operator, behind its opening. Each EMIT row owns what a reader got between the EMIT row before it and itself: 1
  for each EMIT row and reader for which its number is not `rows`, or the exclusive or of its fingerprints is not
  `fingerprint`; and, where the place has an end, 1 for each reader that got anything after the last EMIT row.
"""
_RECORD: Final = int(ElementKind.RECORD)


class Once:
    """Looks at outcomes, timeouts and emissions; its rows have the columns of ``elements.COLUMNS``."""

    __slots__ = ("_found", "_place")

    def __init__(self, place: Place, found: Findings) -> None:
        self._place = place
        self._found = found

    def _broken(self, what: str, row: Row, **where: object) -> None:
        where = {**self._place.where(row[0], row[2], row[3]), **where}
        self._found.broken(what, (self._place.task, row[0]), **where)

    def outcome(self, element: Element, row: Row) -> None:
        """COMPLETE or FAIL."""
        if element.outcome >= 0:
            self._broken("a second outcome", row)
            return
        element.outcome, _, _, _, kind, _, element.fingerprint, _, element.rows = row
        if kind != _RECORD:
            self._broken("an outcome of an element that is not a record", row)
        elif element.put < 0 and not self._place.legacy:
            self._broken("an outcome before the element was put", row)

    def timeout(self, element: Element, row: Row) -> None:
        """In the legacy design the timeout begins before the element has a place in the queue (rule 11.31)."""
        if element.timed_out:
            self._broken("a second timeout", row)
            return
        element.timed_out = True
        timeout_ms = self._place.timeout_ms
        if timeout_ms <= 0:
            self._broken("a timeout, but the operator has none", row)
        elif self._place.legacy:
            return
        elif element.outcome >= 0:
            self._broken("a timeout after the outcome", row)
        elif element.put < 0:
            self._broken("a timeout before the element was put", row)
        else:
            due_ms = element.put_ns // NS_PER_MS + timeout_ms
            if row[1] // NS_PER_MS <= due_ms <= MAX_WATERMARK:
                self._broken("a timeout too early", row, time_ms=row[1] // NS_PER_MS, expected_after_ms=due_ms)

    def emit(self, element: Element, row: Row) -> None:
        """The first EMIT of an element that was put."""
        _, _, _, _, kind, timestamp, fingerprint, _, rows = row
        if kind != element.kind or timestamp != element.timestamp:
            self._broken("emitted with another kind or timestamp than it was put", row)
        elif kind != _RECORD:
            if rows:
                self._broken("a watermark with results", row, rows=rows, expected_rows=0)
        elif element.outcome < 0:
            self._broken("emitted before its outcome", row)
        elif element.rows >= 0 and (rows != element.rows or fingerprint != element.fingerprint):
            self._broken(
                "emitted with other results than those of its outcome", row, rows=rows, expected_rows=element.rows,
                fingerprint=fingerprint, expected_fingerprint=element.fingerprint,
            )  # fmt: skip

    def emitted_before_put(self, row: Row) -> None:
        """Such an emission has no further effect."""
        self._broken("emitted before it was put", row)

    def after_emission(self, row: Row) -> None:
        """An outcome, a timeout or an emission of an element that was emitted."""
        what = {EMIT: "emitted a second time", TIMEOUT: "a timeout after the emission"}
        self._broken(what.get(row[3], "an outcome after the emission"), row)

    def left(self, element: Element, entry: int) -> None:
        """An element that was put and never emitted."""
        if self._place.end != NEVER:
            self._found.broken(
                "never emitted", (self._place.task, element.put), task=self._place.task,
                operator=self._place.number, seq=element.put, entry=entry,
            )  # fmt: skip
