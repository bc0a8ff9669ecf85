"""The timers of the virtual loop, by time; timers of one time in order of creation."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from itertools import count
from typing import Final

from flowsim.sim.handles import VirtualTimer

_COMPACT_ABOVE: Final = 100


class TimerHeap:
    """A heap of timers, with those that were cancelled until they are removed.

    Invariants: ``_pending`` counts the timers that are neither cancelled nor daemons, ``_cancelled`` the cancelled ones.
    """

    __slots__ = ("_entries", "_numbers", "_pending", "_cancelled")

    def __init__(self) -> None:
        self._entries: list[tuple[int, int, VirtualTimer]] = []
        self._numbers = count()
        self._pending = self._cancelled = 0

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[VirtualTimer]:
        """The timers that are not cancelled, in no order."""
        for _, _, timer in self._entries:
            if not timer._cancelled:
                yield timer

    def clear(self) -> None:
        self._entries.clear()

    def push(self, timer: VirtualTimer) -> None:
        heapq.heappush(self._entries, (timer.when_ns, next(self._numbers), timer))
        if timer.daemon_while_not is None:
            self._pending += 1

    @property
    def next_ns(self) -> int:
        """The time of the first timer, which may be a cancelled one. There must be one."""
        return self._entries[0][0]

    def has_due(self, now_ns: int) -> bool:
        """True if a timer, possibly a cancelled one, is due."""
        entries = self._entries
        return bool(entries) and entries[0][0] <= now_ns

    def take_due(self, now_ns: int) -> list[VirtualTimer]:
        """Removes and returns the timers that are due."""
        entries, due = self._entries, []
        while entries and entries[0][0] <= now_ns:
            timer = heapq.heappop(entries)[2]
            timer._scheduled = False
            if timer._cancelled:
                self._cancelled -= 1
                continue
            if timer.daemon_while_not is None:
                self._pending -= 1
            due.append(timer)
        return due

    def any_counts(self) -> bool:
        """True if a timer is left that keeps the run alive; removes cancelled timers from the head."""
        entries = self._entries
        while entries and entries[0][2]._cancelled:
            heapq.heappop(entries)
            self._cancelled -= 1
        return self._pending > 0 or any(timer.daemon_while_not() for timer in self if timer.daemon_while_not)

    def on_cancelled(self, timer: VirtualTimer) -> None:
        """Called when a timer of the heap was cancelled; removes cancelled timers when they are most of a large heap."""
        if timer.daemon_while_not is None:
            self._pending -= 1
        self._cancelled += 1
        if self._cancelled > _COMPACT_ABOVE and 2 * self._cancelled > len(self._entries):
            self._entries = [entry for entry in self._entries if not entry[2]._cancelled]
            heapq.heapify(self._entries)
            self._cancelled = 0
