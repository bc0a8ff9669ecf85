"""Where the time of a task goes: busy, idle, soft or hard back-pressured (rules 3.19, 3.28)."""

from __future__ import annotations

from collections.abc import Callable

from flowsim.tasks.task_clock import TaskClock


class TimeBuckets:
    """Nanoseconds per bucket; what is in no other bucket is busy. Idle and back pressure never overlap (rule 4.6)."""

    __slots__ = ("idle_ns", "soft_ns", "hard_ns", "_started_ns", "_stopped_ns")

    def __init__(self) -> None:
        self.idle_ns = 0
        self.soft_ns = 0
        self.hard_ns = 0
        self._started_ns = 0
        self._stopped_ns = 0

    def start(self, now_ns: int) -> None:
        self._started_ns = self._stopped_ns = now_ns

    def stop(self, now_ns: int) -> None:
        self._stopped_ns = now_ns

    @property
    def total_ns(self) -> int:
        return self._stopped_ns - self._started_ns

    @property
    def busy_ns(self) -> int:
        return max(self.total_ns - self.idle_ns - self.soft_ns - self.hard_ns, 0)

    def begin_idle(self, clock: TaskClock) -> Callable[[], None]:
        """Waiting for input starts now; call what is returned when it ends."""
        start_ns = clock.now_ns

        def end() -> None:
            self.idle_ns += clock.now_ns - start_ns

        return end

    def begin_soft(self, clock: TaskClock) -> Callable[[], None]:
        """Waiting for output between elements starts now."""
        start_ns = clock.now_ns

        def end() -> None:
            self.soft_ns += clock.now_ns - start_ns

        return end

    def begin_hard(self, clock: TaskClock) -> Callable[[], None]:
        """Waiting for a buffer inside an element starts now."""
        start_ns = clock.now_ns

        def end() -> None:
            self.hard_ns += clock.now_ns - start_ns

        return end
