"""Laws async-capacity and async-end: the size of the queue (rules 11.1 to 11.5, 11.19)."""

from __future__ import annotations

from typing import Final

from flowsim.laws.async_wait.places import EMIT, OUTCOMES, PUT, Check, Place, Step
from flowsim.laws.findings import Findings

ID: Final = "async-capacity"
COUNTS: Final = """\
- Rows examined: all rows of `async_elements`.
- A row of a place is a violation when `queued` is above `params.capacity`, or is not the number of PUT rows minus the
  number of EMIT rows, up to and including the row. In COMPLETE and FAIL rows, `queued` may also be one less, because
  they may be recorded while an element that has left the queue is being emitted.
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

    __slots__ = ("_inside",)

    def __init__(self, place: Place, found: Findings) -> None:
        super().__init__(place, found)
        self._inside = 0

    def step(self, step: Step) -> None:
        """A row of ``async_elements``."""
        action, queued, capacity = step.action, step.queued, self.place.capacity
        if action == PUT:
            self._inside += 1
        elif action == EMIT:
            self._inside -= 1
        inside = self._inside
        if queued > capacity:
            what = "more elements than the capacity of the queue"
        # An outcome may come while an element that has left the queue is being emitted.
        elif queued == inside or (action in OUTCOMES and queued == inside - 1):
            return
        else:
            what = "the queue size is not the number of elements put and not emitted"
        self.broken(what, step, queued=queued, expected=inside, capacity=capacity)


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
