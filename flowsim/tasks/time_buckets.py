"""Where the time of a task goes: busy, idle, soft or hard back-pressured (rules 3.19, 3.28)."""

from __future__ import annotations

from flowsim.tasks.task_clock import TaskClock
from flowsim.watermark.pausable_relative_clock import PausableRelativeClock


class PeriodTimer:
    """Adds up the nanoseconds between its starts and ends on the task's clock. Flink: PeriodTimer, TimerGauge."""

    __slots__ = ("_clock", "_total_ns", "_since_ns", "pausing")

    def __init__(self, clock: TaskClock) -> None:
        self._clock = clock
        self.pausing: list[PausableRelativeClock] = []
        """Clocks that stand still during the periods (rule 8.4)."""
        self._total_ns = 0
        self._since_ns: int | None = None

    @property
    def total_ns(self) -> int:
        """All periods that ended."""
        return self._total_ns

    def mark_start(self) -> None:
        self._since_ns = self._clock.now_ns
        for paused in self.pausing:
            paused.pause()

    def mark_end(self) -> None:
        """Ends the running period; harmless when there is none."""
        if self._since_ns is not None:
            self._total_ns += self._clock.now_ns - self._since_ns
            self._since_ns = None
            for paused in self.pausing:
                paused.un_pause()


class TimeBuckets:
    """Nanoseconds per bucket; what is in no other bucket is busy. Idle and back pressure never overlap (rule 4.6)."""

    __slots__ = ("idle", "soft", "hard", "_clock", "_started_ns", "_stopped_ns")

    def __init__(self, clock: TaskClock) -> None:
        self.idle = PeriodTimer(clock)
        """Waiting for input."""
        self.soft = PeriodTimer(clock)
        """Waiting for output between elements."""
        self.hard = PeriodTimer(clock)
        """Waiting for a buffer inside an element."""
        self._clock = clock
        self._started_ns = 0
        self._stopped_ns = 0

    def start(self) -> None:
        self._started_ns = self._stopped_ns = self._clock.now_ns

    def stop(self) -> None:
        """The task ends: so does what it waits for."""
        for timer in (self.idle, self.soft, self.hard):
            timer.mark_end()
        self._stopped_ns = self._clock.now_ns

    @property
    def total_ns(self) -> int:
        return self._stopped_ns - self._started_ns

    @property
    def idle_ns(self) -> int:
        return self.idle.total_ns

    @property
    def soft_ns(self) -> int:
        return self.soft.total_ns

    @property
    def hard_ns(self) -> int:
        return self.hard.total_ns

    @property
    def busy_ns(self) -> int:
        return max(self.total_ns - self.idle_ns - self.soft_ns - self.hard_ns, 0)
