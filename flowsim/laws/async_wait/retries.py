"""Part of law async-retries: number and time of the calls for an element (rules 11.24, 11.25, 11.27, 11.28)."""

from __future__ import annotations

from typing import Final

from flowsim.facts.kinds import ElementKind
from flowsim.laws.async_wait.places import NEVER, RETRY, Check, Element, Place, Step
from flowsim.laws.findings import Findings

ID: Final = "async-retries"
COUNTS: Final = """\
- Rows examined: PUT rows of kind RECORD, and INVOKE and RETRY rows of `async_elements`.
- An INVOKE row is *at the end* if no PUT row and no RETRY row of its place is after it (rules 11.27, 11.28). It is a
  violation when
  - the put of its entry is not before it;
  - `attempt` is not the number of earlier INVOKE rows of the entry + 1;
  - `attempt` is above 1, and the place does not retry;
  - `attempt` is above 1, it is not at the end, and an outcome of the entry is before it or no RETRY row of the entry
    with `attempt` - 1 is before it;
  - `attempt` - 1 is above the limit (at the end: above the limit + 1).
- A RETRY row is a violation when
  - the place does not retry;
  - `attempt` is not the number of earlier INVOKE rows of the entry, or is above the limit;
  - a RETRY row of the entry with the same attempt, a TIMEOUT row of the entry or its outcome is before it.
- 1 for each entry of kind RECORD that was put and emitted without an INVOKE row before the emission. An entry that was
  not emitted counts 1 if it has no INVOKE row although another PUT row of the place, or the end of the place, is after
  its put.
- After the emission of an entry, other conditions apply, because its calls are no longer counted. A RETRY row or a
  first call (`attempt` 1) is a violation. A further call is a violation unless it is at the end, the place retries, and
  `attempt` - 1 is at most the limit + 1. An entry with a TIMEOUT and a RETRY row before its emission keeps the
  conditions above (rule 11.28).
"""
_RECORD: Final = int(ElementKind.RECORD)


class Retries(Check):
    """Checks the calls of an element and its retries.

    At the end, after the last PUT and the last RETRY, the operator may call the function once more for an element
    without a retry (rules 11.27, 11.28). So such calls are stored until the next put or retry.
    """

    __slots__ = ("_put", "_unless_at_the_end")

    def __init__(self, place: Place, found: Findings) -> None:
        super().__init__(place, found)
        self._put = -1
        """Sequence number of the last PUT."""
        self._unless_at_the_end: list[Step] = []

    def _wrong(self, what: str, step: Step, **where: object) -> None:
        self.broken(what, step, attempt=step.attempt, **where)

    def put(self, step: Step) -> None:
        """An element is put."""
        self._put = step.seq
        if self._unless_at_the_end:
            self._not_at_the_end()

    def _not_at_the_end(self) -> None:
        for step in self._unless_at_the_end:
            self._wrong("the function is called again, but no retry is due", step)
        self._unless_at_the_end.clear()

    def invoke(self, element: Element, step: Step) -> None:
        """A call of the function."""
        element.calls += 1
        if element.put is None:
            self._wrong("the function is called before the element was put", step)
        elif step.attempt != element.calls:
            self._wrong("attempts are not numbered 1, 2, 3", step, expected_attempt=element.calls)
        elif step.attempt > 1:
            self._again(step, step.attempt - 1 in element.retries and element.outcome is None)

    def _again(self, step: Step, due: bool) -> None:
        retries, limit = step.attempt - 1, self.place.limit
        if not self.place.retries:
            self._wrong("the function is called again without a retry strategy", step)
        elif retries > limit + 1:
            self._wrong("the function is called too often", step, limit=limit + 2)
        elif not due or retries > limit:
            self._unless_at_the_end.append(step)

    def retry(self, element: Element, step: Step) -> None:
        """An element starts to wait for a retry."""
        self._not_at_the_end()
        if not self.place.retries:
            self._wrong("a record waits for a retry without a retry strategy", step)
        elif step.attempt != element.calls:
            self._wrong(
                "a record waits for a retry of an attempt that is not its last", step, expected_attempt=element.calls
            )
        elif step.attempt > self.place.limit:
            self._wrong("a record waits for one retry too many", step, limit=self.place.limit)
        elif step.attempt in element.retries:
            self._wrong("a record waits for the same retry again", step)
        elif element.timed_out or element.outcome is not None:
            self._wrong("a record waits for a retry after its timeout or outcome", step)
        element.retries.add(step.attempt)

    def after_emission(self, step: Step) -> None:
        """INVOKE or RETRY of an emitted element: the number of its calls is not known."""
        if step.action == RETRY:
            self._not_at_the_end()
            self._wrong("a record waits for a retry after its emission", step)
        elif step.attempt <= 1:
            self._wrong("the function is called for the first time after the emission", step)
        else:
            self._again(step, False)

    def emit(self, element: Element, put: Step) -> None:
        """The function was called for a record before its emission."""
        if not element.calls and put.kind == _RECORD:
            self.broken("the function was never called", put)

    def left(self, element: Element, put: Step) -> None:
        """An element that was put and never emitted; the last one may not have reached the function yet."""
        if self._put > put.seq or NEVER > self.place.end > put.seq:
            self.emit(element, put)
