"""Laws async-capacity and async-end: the size of the queue (rules 11.1 to 11.5, 11.19)."""

from __future__ import annotations

from typing import Final

from flowsim.laws.async_wait.places import EMIT, OUTCOMES, PUT, Check, Place, Step
from flowsim.laws.findings import Findings

ID: Final = "async-capacity"
COUNTS: Final = """\
- Rows examined: all rows of `async_elements`.
- The *error* of a row of a place is its `queued`, minus the number of PUT rows up to and including the row, plus the
  number of EMIT rows. In COMPLETE and FAIL rows, an error that is one less than that of the row before is the same
  error, because they may be recorded while an element that has left the queue is being emitted.
- A row of a place is a violation when
  - its `queued` is above `params.capacity`, and that of the row before is not;
  - its `queued` is not above the capacity, and its error is not 0 and not that of the row before (first row: not 0).
"""
END_ID: Final = "async-end"
END_COUNTS: Final = """\
- Rows examined: END_INPUT and CLOSE rows of places in `lifecycle`.
- Violations:
  - each PUT, INVOKE, RETRY, TIMEOUT and EMIT row of a place after its end or after its first CLOSE row;
  - each END_INPUT row of a place, if `queued` is not 0 in the last PUT or EMIT row before it.
"""


class Capacity(Check):
    """Compares the size of the queue with its capacity and with the elements put and not emitted."""

    __slots__ = ("_error", "_inside", "_is_over")

    def __init__(self, place: Place, found: Findings) -> None:
        super().__init__(place, found)
        self._inside = 0
        self._error = 0
        """The size of the queue in the last row, less the number of elements inside."""
        self._is_over = False

    def step(self, step: Step) -> None:
        """A row of ``async_elements``."""
        action, queued, capacity = step.action, step.queued, self.place.capacity
        if action == PUT:
            self._inside += 1
        elif action == EMIT:
            self._inside -= 1
        # An outcome may come while an element that has left the queue is being emitted.
        is_leaving = action in OUTCOMES and queued == self._inside + self._error - 1
        error, is_over = self._error if is_leaving else queued - self._inside, queued > capacity
        what = ""
        if is_over:
            what = "" if self._is_over else "more elements than the capacity of the queue"
        elif error not in (0, self._error):
            what = "the queue size is not the number of elements put and not emitted"
        if what:
            self.broken(what, step, queued=queued, expected=self._inside, capacity=capacity)
        self._error, self._is_over = error, is_over


class End(Check):
    """Checks the queue at every end of input, and the steps after an end or a close."""

    __slots__ = ("queued",)

    def __init__(self, place: Place, found: Findings) -> None:
        super().__init__(place, found)
        self.queued = 0
        """The size of the queue after the last element was put or emitted."""

    def late(self, step: Step) -> None:
        """A step after an end or a close."""
        if step.action not in OUTCOMES:
            self.broken(
                f"a step after the {'end of input' if step.seq > self.place.end else 'operator was closed'}", step
            )

    def input_ends(self, seq: int) -> None:
        """An END_INPUT row."""
        if self.queued:
            self.broken_at("the queue is not empty at the end of input", seq, queued=self.queued, expected=0)
