"""Of law async-capacity: counts the elements that are put into the queue and emitted (rules 11.1-11.5)."""

from __future__ import annotations

from typing import Final

import numpy as np

from flowsim.laws.async_wait.places import Place, Steps, broken_rows
from flowsim.laws.law import Findings

ID: Final = "async-capacity"
COUNTS: Final = """\
- Rows examined: all rows of `async_elements`.
- Each row of a place is a violation (once) when `queued` is above `params.capacity`, or is not the number of PUT rows up
  to this one less the number of EMIT rows up to it; in COMPLETE and FAIL rows it may also be one less (they may come
  while an element that has left the queue is being handed on).
"""


class Capacity:
    """Compares the size of the queue with its capacity and with the elements put and not emitted."""

    __slots__ = ("_found", "_inside", "_place")

    def __init__(self, place: Place, found: Findings) -> None:
        self._place = place
        self._found = found
        self._inside = 0

    def feed(self, steps: Steps) -> None:
        expected = self._inside + np.cumsum(steps.puts.astype(np.int64) - steps.emits)
        self._inside = int(expected[-1])
        queued = steps.column("queued")
        too_many = queued > self._place.capacity
        differs = queued != expected
        if differs.any():
            # An outcome may come while an element that has left the queue is being emitted.
            differs &= ~(steps.outcomes() & (queued == expected - 1))
        for row in broken_rows(self._found, too_many | differs):
            where = steps.where(self._place, row)
            self._found.broken(
                "more elements than the capacity of the queue"
                if too_many[row]
                else "not the number of elements put and not emitted",
                (self._place.task, int(steps.seq[row])),
                **where,
                queued=int(queued[row]),
                expected=int(expected[row]),
                capacity=self._place.capacity,
            )
