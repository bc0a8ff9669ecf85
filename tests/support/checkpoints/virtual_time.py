"""Main threads of a job manager whose time tests set."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count


@dataclass(order=True)
class Scheduled:
    at_ms: int
    number: int
    action: Callable[[], None] = field(compare=False)
    is_cancelled: bool = field(default=False, compare=False)

    def cancel(self) -> None:
        self.is_cancelled = True


class VirtualTimeExecutor:
    """An action is a turn; actions of the same time run in the order of their calls."""

    def __init__(self, now_ms: int = 0) -> None:
        self.now_ms = now_ms
        self._queue: list[Scheduled] = []
        self._numbers = count()

    def execute(self, action: Callable[[], None]) -> None:
        self.schedule(action, 0)

    def schedule(self, action: Callable[[], None], delay_ms: int) -> Scheduled:
        scheduled = Scheduled(self.now_ms + max(0, delay_ms), next(self._numbers), action)
        heapq.heappush(self._queue, scheduled)
        return scheduled

    def run_until(self, time_ms: int) -> None:
        """Runs everything up to a time, which is the time afterwards."""
        while self._queue and self._queue[0].at_ms <= time_ms:
            scheduled = heapq.heappop(self._queue)
            self.now_ms = max(self.now_ms, scheduled.at_ms)
            if not scheduled.is_cancelled:
                scheduled.action()
        self.now_ms = max(self.now_ms, time_ms)


class DirectExecutor(VirtualTimeExecutor):
    """Runs actions at once, in order, not inside each other."""

    def __init__(self) -> None:
        super().__init__()
        self._runs = False

    def execute(self, action: Callable[[], None]) -> None:
        super().execute(action)
        if not self._runs:
            self._runs = True
            self.run_until(self.now_ms)
            self._runs = False
