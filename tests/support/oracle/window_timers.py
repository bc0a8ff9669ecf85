"""A model of the timers of a window operator: each once, the earliest first (rules 9.1, 9.2)."""

from __future__ import annotations

from heapq import heappop, heappush

from tests.support.oracle.window_plan import Window

Timer = tuple[int, int, Window]
"""Time in ms, key, window."""


class Timers:
    """Timers of one clock."""

    __slots__ = ("_heap", "_set")

    def __init__(self) -> None:
        self._heap: list[Timer] = []
        self._set: dict[Timer, int] = {}

    def add(self, timer: Timer, rank: int) -> None:
        """``rank``: how many records had been taken in when it was set."""
        if timer not in self._set:
            self._set[timer] = rank
            heappush(self._heap, timer)

    def delete(self, timer: Timer) -> int | None:
        """Its rank, None where there is no such timer. Its place in the heap is skipped later."""
        return self._set.pop(timer, None)

    def poll(self, up_to: int) -> tuple[Timer, int] | None:
        """Takes out the earliest timer that is not after ``up_to``, with its rank."""
        while self._heap and self._heap[0][0] <= up_to:
            timer = heappop(self._heap)
            rank = self._set.pop(timer, None)
            if rank is not None:
                return timer, rank
        return None

    def poll_window(self, key: int, window: Window, up_to: int) -> tuple[Timer, int] | None:
        """The same among the timers of one window."""
        mine = [timer for timer in self._set if timer[1] == key and timer[2] == window and timer[0] <= up_to]
        return (min(mine), self._set.pop(min(mine))) if mine else None
