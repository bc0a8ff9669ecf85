"""The waiting timers of one time domain (rules 9.1, 9.2)."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Final

Name = tuple[int, int, int]
"""Key and window of a timer."""
Due = tuple[int, Name, int]
"""Timestamp, key and window of a timer, and the sequence number of its registration."""

_STALE: Final = 64
"""Minimum number of outdated times in the heap before a cleanup."""


class Waiting:
    """The waiting timers of one time domain, by time."""

    __slots__ = ("_by_time", "_times")

    def __init__(self) -> None:
        self._by_time: dict[int, dict[Name, int]] = {}
        """With the sequence numbers of their registrations."""
        self._times: list[int] = []
        """A heap of the keys of ``_by_time``, and of some outdated times."""

    def register(self, timestamp: int, name: Name, seq: int) -> bool:
        """Returns whether no equal timer waits already."""
        timers = self._by_time.get(timestamp)
        if timers is None:
            self._by_time[timestamp] = {name: seq}
            times = self._times
            heappush(times, timestamp)
            if len(times) > 2 * len(self._by_time) + _STALE:
                self._times = list(self._by_time)
                heapify(self._times)
            return True
        if name in timers:
            return False
        timers[name] = seq
        return True

    def remove(self, timestamp: int, name: Name) -> bool:
        """Returns whether the timer waited."""
        timers = self._by_time.get(timestamp)
        if timers is None or timers.pop(name, None) is None:
            return False
        if not timers:
            del self._by_time[timestamp]
        return True

    def all(self) -> list[tuple[int, Name]]:
        """The times and names of all waiting timers, by time."""
        return [(timestamp, name) for timestamp, timers in sorted(self._by_time.items()) for name in timers]

    def earliest(self) -> int | None:
        """The lowest time of a waiting timer."""
        times, by_time = self._times, self._by_time
        while times:
            if times[0] in by_time:
                return times[0]
            heappop(times)
        return None

    def take_due(self, watermark: int, before: int) -> list[Due]:
        """Removes and returns the timers up to ``watermark`` that were registered before a sequence number."""
        due: list[Due] = []
        passed = []
        while (timestamp := self.earliest()) is not None and timestamp <= watermark:
            passed.append(heappop(self._times))
            timers = self._by_time[timestamp]
            found = [(name, seq) for name, seq in timers.items() if seq < before]
            due += ((timestamp, name, seq) for name, seq in found)
            for name, _ in found:
                self.remove(timestamp, name)
            while self._times and self._times[0] == timestamp:
                heappop(self._times)
        for timestamp in passed:
            if timestamp in self._by_time:
                heappush(self._times, timestamp)
        return due
