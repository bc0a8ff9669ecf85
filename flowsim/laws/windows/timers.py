"""The timers of a window operator: each once, the earliest first (rules 9.1, 9.2)."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Final

from flowsim.laws.windows.panes import PaneId

Due = tuple[int, PaneId, int]
"""Time in ms of a timer that was polled, its pane, and its rank."""

_SLACK: Final = 64


class Timers:
    """Timers of one clock. Deleted ones stay in the heap until they are the majority."""

    __slots__ = ("_heap", "_of", "_waiting")

    def __init__(self) -> None:
        self._heap: list[tuple[int, PaneId]] = []
        self._of: dict[PaneId, dict[int, int]] = {}
        """The times of each pane, and their ranks."""
        self._waiting = 0

    def add(self, at: int, pane: PaneId, rank: int) -> None:
        """``rank``: the number of intakes at the registration."""
        times = self._of.get(pane)
        if times is None:
            self._of[pane] = {at: rank}
        elif at in times:
            return
        else:
            times[at] = rank
        heappush(self._heap, (at, pane))
        self._waiting += 1
        if len(self._heap) > 2 * self._waiting + _SLACK:
            self._heap = [(time, of) for of, times in self._of.items() for time in times]
            heapify(self._heap)

    def delete(self, at: int, pane: PaneId) -> int | None:
        """Its rank, None if there is no such timer."""
        times = self._of.get(pane)
        if times is None:
            return None
        rank = times.pop(at, None)
        if rank is not None:
            self._waiting -= 1
            if not times:
                del self._of[pane]
        return rank

    def poll(self, up_to: int) -> Due | None:
        """Removes the earliest timer that is not after ``up_to``."""
        heap = self._heap
        while heap and heap[0][0] <= up_to:
            at, pane = heappop(heap)
            rank = self.delete(at, pane)
            if rank is not None:
                return at, pane, rank
        return None

    def poll_pane(self, pane: PaneId, up_to: int) -> Due | None:
        """The same among the timers of one pane."""
        at = min((at for at in self._of.get(pane, ()) if at <= up_to), default=None)
        rank = None if at is None else self.delete(at, pane)
        return None if at is None or rank is None else (at, pane, rank)
