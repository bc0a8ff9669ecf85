"""Of law async-end: the queue is empty at the end of input, and no element moves afterwards (rule 11.19)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from flowsim.laws.async_wait.places import Place, Steps, broken_rows
from flowsim.laws.law import Findings

ID: Final = "async-end"
COUNTS: Final = """\
- Rows examined: END_INPUT and CLOSE rows of `lifecycle` of places.
- Violations: every PUT, INVOKE, RETRY, TIMEOUT and EMIT row of a place behind its end, or behind its first CLOSE row
  (once); and every END_INPUT row whose place has, in the last PUT or EMIT row before it, a `queued` other than 0.
"""


class End:
    """Looks at the queue at every end of input, and at the steps after an end or a close."""

    __slots__ = ("_found", "_place", "_queued")

    def __init__(self, place: Place, found: Findings) -> None:
        self._place = place
        self._found = found
        self._queued = 0
        """The size of the queue after the last element was put or emitted."""

    def feed(self, steps: Steps | None, ends: Sequence[int]) -> None:
        """``ends``: every END_INPUT in this slice."""
        sizes = [self._queued]
        moved: list[int] = []
        if steps is not None:
            moves = steps.puts | steps.emits
            queued = steps.column("queued")[moves]
            if ends:
                moved, sizes = steps.seq[moves].tolist(), [self._queued, *queued.tolist()]
            if len(queued):
                self._queued = int(queued[-1])
            if steps.seq[-1] > min(self._place.end, self._place.closing):
                self._steps_afterwards(steps)
        for end in ends:
            left = sizes[int(np.searchsorted(moved, end))]
            if left:
                self._found.broken(
                    "the queue is not empty at the end of input", (self._place.task, end), task=self._place.task,
                    operator=self._place.number, seq=end, queued=left, expected=0,
                )  # fmt: skip

    def _steps_afterwards(self, steps: Steps) -> None:
        place = self._place
        late = (steps.seq > min(place.end, place.closing)) & ~steps.outcomes()
        for row in broken_rows(self._found, late):
            seq = int(steps.seq[row])
            what = "a step after the end of input" if seq > place.end else "a step after the operator was closed"
            self._found.broken(what, (place.task, seq), **steps.where(place, row))
