"""The timers that are due at one time, by their origin: what Flink's threads would do in any order."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable

from flowsim.sim.handles import VirtualTimer


class DueEvents:
    """Queues of due timers: one queue for each origin, first in, first out.

    A timer that is cancelled here stays and does nothing.
    """

    __slots__ = ("origins", "_queues")

    def __init__(self) -> None:
        self.origins: list[Hashable] = []
        """The origins that have a due timer, in the order of their first one."""
        self._queues: dict[Hashable, deque[VirtualTimer]] = {}

    def add(self, timer: VirtualTimer) -> None:
        queue = self._queues.get(timer.origin)
        if queue is None:
            self.origins.append(timer.origin)
            queue = self._queues[timer.origin] = deque()
        queue.append(timer)

    def take(self, index: int) -> VirtualTimer:
        """Removes and returns the first timer of an origin."""
        origin = self.origins[index]
        queue = self._queues[origin]
        timer = queue.popleft()
        if not queue:
            del self.origins[index], self._queues[origin]
        return timer

    def clear(self) -> None:
        self.origins.clear()
        self._queues.clear()
