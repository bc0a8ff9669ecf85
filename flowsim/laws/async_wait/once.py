"""Part of law async-once: each element has one outcome, and is emitted once, with its results (rules 11.12-11.19)."""

from __future__ import annotations

from typing import Final

from flowsim.facts.kinds import ElementKind
from flowsim.laws.async_wait.places import EMIT, NEVER, TIMEOUT, Check, Element, Step
from flowsim.units import MAX_WATERMARK, NS_PER_MS

ID: Final = "async-once"
COUNTS: Final = """\
- Rows examined: PUT, COMPLETE, FAIL, TIMEOUT and EMIT rows of `async_elements`.
- Such a row is a violation when
  - it does not belong to a place;
  - COMPLETE, FAIL: its kind is not RECORD, or it is not the outcome of its entry;
  - COMPLETE, FAIL in the mailbox design: the put of the entry is not before it. (In the legacy design, an entry that
    still waits for room in the queue may time out, rule 11.31);
  - TIMEOUT: `timeout_ms` is 0, or a TIMEOUT row of the entry is before it;
  - TIMEOUT in the mailbox design: an outcome of the entry is before it (rule 11.18), or the put is not before it, or it
    is too early. *Too early* means: the milliseconds of its `time_ns` are not above those of the put + `timeout_ms`
    (rules 9.10, 11.1). If this sum is above `MAX`, nothing is too early;
  - COMPLETE, FAIL, TIMEOUT: it is after the emission of its entry;
  - EMIT: it is not the emission of its entry (an EMIT row before the put has no other effect), or the put has another
    kind or timestamp;
  - EMIT of kind RECORD: no outcome is before it, or the outcome has other `rows` or another `fingerprint`. (The latter
    is not checked if `rows` of the outcome is -1, not yet known);
  - EMIT of kind WATERMARK: its `rows` is not 0.
- If the place has an end, 1 for each entry that was put and has no emission.
- The *readers* of an async operator read its main output. They are its edges without `side_output` (BROADCAST: each
  channel is one reader) and the async operators after it in its chain (`input_operator`, `input_tag` ''). The *records*
  of a reader are the RECORD rows of `sent` on its channels of this task, or the PUT rows of kind RECORD of the other
  async operator after its opening. An EMIT row *owns* the records of a reader between the EMIT row before and itself.
  Violations:
  - 1 for each EMIT row and reader, if the number of records that the row owns is not `rows`, or the exclusive or of
    their fingerprints is not `fingerprint`;
  - if the place has an end, 1 for each reader with records after the last EMIT row.
"""
_RECORD: Final = int(ElementKind.RECORD)


class Once(Check):
    """Checks outcomes, timeouts and emissions."""

    __slots__ = ()

    def outcome(self, element: Element, step: Step) -> None:
        """COMPLETE or FAIL."""
        if element.outcome is not None:
            self.broken("a second outcome", step)
            return
        element.outcome = step
        if step.kind != _RECORD:
            self.broken("an outcome for a watermark", step)
        elif element.put is None and not self.place.legacy:
            self.broken("an outcome before the element was put", step)

    def timeout(self, element: Element, step: Step) -> None:
        """In the legacy design the timeout starts before the element has a place in the queue (rule 11.31)."""
        again, element.timed_out = element.timed_out, True
        timeout_ms = self.place.timeout_ms
        if again:
            self.broken("a second timeout", step)
        elif timeout_ms <= 0:
            self.broken("a timeout, but the operator has none", step)
        elif self.place.legacy:
            return
        elif element.outcome is not None:
            self.broken("a timeout after the outcome", step)
        elif element.put is None:
            self.broken("a timeout before the element was put", step)
        else:
            due_ms = element.put.time_ns // NS_PER_MS + timeout_ms
            if step.time_ns // NS_PER_MS <= due_ms <= MAX_WATERMARK:
                self.broken("a timeout too early", step, time_ms=step.time_ns // NS_PER_MS, expected_after_ms=due_ms)

    def emit(self, put: Step, outcome: Step | None, step: Step) -> None:
        """The first EMIT of an element that was put."""
        if (step.kind, step.timestamp) != (put.kind, put.timestamp):
            self.broken("the emitted element has another kind or timestamp than the put element", step)
        elif step.kind != _RECORD:
            if step.rows:
                self.broken("a watermark with results", step, rows=step.rows, expected_rows=0)
        elif outcome is None:
            self.broken("an element is emitted before its outcome", step)
        elif outcome.rows >= 0 and (step.rows, step.fingerprint) != (outcome.rows, outcome.fingerprint):
            self.broken(
                "the emitted results are not those of the outcome", step, rows=step.rows, expected_rows=outcome.rows,
                fingerprint=step.fingerprint, expected_fingerprint=outcome.fingerprint,
            )  # fmt: skip

    def after_emission(self, step: Step) -> None:
        """An outcome, a timeout or an emission of an element that was emitted."""
        what = {EMIT: "an element is emitted a second time", TIMEOUT: "a timeout after the emission"}
        self.broken(what.get(step.action, "an outcome after the emission"), step)

    def left(self, put: Step) -> None:
        """An element that was put and never emitted."""
        if self.place.end != NEVER:
            self.broken("an element is never emitted", put)
