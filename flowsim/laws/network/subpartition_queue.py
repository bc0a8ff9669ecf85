"""The queue of one subpartition, as its sender's facts show it (rules 5.18, 5.26)."""

from __future__ import annotations

from collections import deque


class SubpartitionQueue:
    """What is in the queue, up to one thing that no fact shows.

    A buffer that left in part and was finished without more bytes disappears from the queue. So the number of data buffers
    that are gone is known as a range, ``least_gone`` to ``most_gone``; ``is_cut`` says that a part of the next one left,
    so that it may be gone by now.
    """

    __slots__ = (
        "_data", "_data_before_events", "_is_cut", "_least_gone", "_most_gone", "_queued", "_sent", "_tail_is_data",
    )  # fmt: skip

    def __init__(self) -> None:
        self._queued = self._sent = 0
        self._data = 0
        """Data buffers that were queued."""
        self._data_before_events: deque[int] = deque()
        """Per event in the queue the data buffers that were queued before it."""
        self._tail_is_data = False
        self._least_gone = self._most_gone = 0
        self._is_cut = False

    def add(self, number: int, is_data: bool, backlog: int) -> str:
        """A buffer or event is queued; what is wrong with it, '' when nothing is."""
        in_order = number == self._queued
        self._queued += 1
        self._tail_is_data = is_data
        if is_data:
            self._data += 1
        else:
            self._data_before_events.append(self._data)
        gone = self._data - backlog
        if self._least_gone <= gone <= self._most_gone + self._is_cut:
            self._is_cut = self._is_cut and gone <= self._most_gone
            self._least_gone = self._most_gone = gone
            return "" if in_order else "queued out of order"
        return "queued with a wrong backlog" if in_order else "queued out of order"

    def take(self, number: int, is_data: bool, backlog: int, ends: bool) -> str:
        """A buffer, part of one (without ``ends``), or an event leaves; what is wrong with it, '' when nothing is."""
        in_order = number == self._sent
        self._sent += 1
        fits = self._take_data(ends) if is_data else self._take_event()
        if not in_order:
            wrong = "leaves out of order"
        elif not fits:
            wrong = "leaves, but is not the next in the queue"
        else:
            wrong = ""
        if fits and not self._narrow(backlog):
            return wrong or "carries a wrong backlog"
        return wrong

    def _take_data(self, ends: bool) -> bool:
        limit = self._data_before_events[0] if self._data_before_events else self._data
        most = self._most_gone + self._is_cut
        if most >= limit:
            most = limit - 1
        if most < self._least_gone:
            return False
        self._least_gone += ends
        self._most_gone = most + ends
        self._is_cut = not ends
        return True

    def _take_event(self) -> bool:
        if not self._data_before_events:
            return False
        gone = self._data_before_events.popleft()
        fits = self._least_gone <= gone <= self._most_gone + self._is_cut
        self._least_gone = self._most_gone = gone
        self._is_cut = False
        return fits

    def _narrow(self, backlog: int) -> bool:
        """Keeps what fits a backlog: it may leave out a data buffer at the tail that waits for a flush (rule 5.26)."""
        most = self._data - backlog
        least = most - (self._tail_is_data and backlog >= 0)
        if most < self._least_gone or least > self._most_gone:
            return False
        if least > self._least_gone:
            self._least_gone = least
        if most < self._most_gone:
            self._most_gone = most
        return True

    @property
    def is_empty(self) -> bool:
        """Whether all that was queued may have left."""
        return not self._data_before_events and self._least_gone <= self._data <= self._most_gone + self._is_cut
