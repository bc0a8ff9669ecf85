"""The timers that are due at one time, by their origin: what Flink's threads would do in any order."""

from __future__ import annotations

from collections import deque

from mypy_extensions import mypyc_attr

from flowsim.sim.handles import VirtualTimer
from flowsim.sim.origin import Origin


@mypyc_attr(allow_interpreted_subclasses=True)
class DueEvents:
    """Queues of due timers: one queue for each origin, first in, first out.

    A timer that is cancelled here stays and does nothing.
    """

    __slots__ = ("origins", "_queues")

    def __init__(self) -> None:
        self.origins: list[Origin] = []
        """The origins that have a due timer, in the order of their first one."""
        self._queues: dict[Origin, deque[VirtualTimer]] = {}

    def add(self, timer: VirtualTimer, origin: Origin) -> None:
        queue = self._queues.get(origin)
        if queue is None:
            self.origins.append(origin)
            queue = self._queues[origin] = deque()
        queue.append(timer)

    def take(self, index: int) -> VirtualTimer:
        """Removes and returns the first timer of an origin."""
        origin = self.origins[index]
        queue = self._queues[origin]
        timer = queue.popleft()
        if not queue:
            del self.origins[index], self._queues[origin]
        return timer

    def first(self, origin: Origin) -> VirtualTimer:
        """Returns the first timer of an origin."""
        return self._queues[origin][0]

    def without_cancelled(self) -> list[Origin]:
        """Drops cancelled timers before the first others; returns the origins that are left."""
        for origin in list(self.origins):
            queue = self._queues[origin]
            while queue and queue[0]._cancelled:
                queue.popleft()
            if not queue:
                self.origins.remove(origin)
                del self._queues[origin]
        return list(self.origins)

    def clear(self) -> None:
        self.origins.clear()
        self._queues.clear()
