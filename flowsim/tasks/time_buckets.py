"""The time of a task by state: busy, idle, soft or hard back-pressured (rules 3.19, 3.28)."""

from __future__ import annotations

from typing import NamedTuple

from mypy_extensions import mypyc_attr

from flowsim.task_clock import Clock, TaskClock
from flowsim.tasks.timer_gauge import TimerGauge
from flowsim.watermark.idleness import PausableRelativeClock


@mypyc_attr(allow_interpreted_subclasses=True)
class PeriodTimer:
    """Sums the nanoseconds between its starts and ends on the task's clock. Flink: PeriodTimer, GaugePeriodTimer."""

    __slots__ = ("_clock", "_total_ns", "_since_ns", "pausing", "gauge")

    def __init__(self, clock: TaskClock) -> None:
        self._clock = clock
        self.pausing: list[PausableRelativeClock] = []
        """Clocks that pause during the periods (rule 8.4)."""
        self._total_ns = 0
        self._since_ns: int | None = None
        self.gauge: TimerGauge | None = None
        """Measures the same periods for a metric; None without metrics."""

    @property
    def total_ns(self) -> int:
        """The sum of all periods that ended, in ns."""
        return self._total_ns

    @property
    def is_running(self) -> bool:
        return self._since_ns is not None

    def mark_start(self) -> None:
        self._since_ns = self._clock.now_ns
        if self.gauge is not None:
            self.gauge.mark_start()
        for paused in self.pausing:
            paused.pause()

    def mark_end(self) -> None:
        """Ends the running period; does nothing if no period is running."""
        if self._since_ns is not None:
            self._total_ns += self._clock.now_ns - self._since_ns
            self._since_ns = None
            if self.gauge is not None:
                self.gauge.mark_end()
            for paused in self.pausing:
                paused.un_pause()


class _LatestClock:
    """The later of a task's clock and the loop's clock.

    The task's clock does not advance while the task waits; inside a batch it is ahead of the loop.
    """

    __slots__ = ("_task", "_loop")

    def __init__(self, task: Clock, loop: Clock) -> None:
        self._task = task
        self._loop = loop

    @property
    def now_ns(self) -> int:
        return max(self._task.now_ns, self._loop.now_ns)


class TimeGauges(NamedTuple):
    """Idle, soft and hard back-pressured milliseconds per second of one task. Flink: TaskIOMetricGroup."""

    idle: TimerGauge
    soft: TimerGauge
    hard: TimerGauge

    def update(self) -> None:
        """Closes the samples of the gauges at the end of an interval."""
        self.idle.update()
        self.soft.update()
        self.hard.update()


class TimeBuckets:
    """Nanoseconds per bucket; time in no bucket is busy time. Idle and back pressure never overlap (rule 4.6)."""

    __slots__ = ("idle", "soft", "hard", "_clock", "_started_ns", "_stopped_ns")

    def __init__(self, clock: TaskClock) -> None:
        self.idle = PeriodTimer(clock)
        """Time spent waiting for input."""
        self.soft = PeriodTimer(clock)
        """Time spent waiting for output between elements."""
        self.hard = PeriodTimer(clock)
        """Time spent waiting for a buffer inside an element."""
        self._clock = clock
        self._started_ns = 0
        self._stopped_ns = 0

    def measure(self, loop_clock: Clock, interval_ms: int) -> TimeGauges:
        """Adds gauges to the three timers; a caller updates them every ``interval_ms`` (rule 13.2)."""
        clock = _LatestClock(self._clock, loop_clock)
        self.idle.gauge = TimerGauge(clock, interval_ms)
        self.soft.gauge = TimerGauge(clock, interval_ms)
        self.hard.gauge = TimerGauge(clock, interval_ms)
        return TimeGauges(self.idle.gauge, self.soft.gauge, self.hard.gauge)

    def start(self) -> None:
        self._started_ns = self._stopped_ns = self._clock.now_ns

    def stop(self) -> None:
        """Ends the measurement, and the task's current wait, when the task ends."""
        for timer in (self.idle, self.soft, self.hard):
            timer.mark_end()
        self._stopped_ns = self._clock.now_ns

    @property
    def started_ns(self) -> int:
        """The start time of the task in ns; 0 if it never started."""
        return self._started_ns

    @property
    def stopped_ns(self) -> int:
        """The end time of the task in ns; its start time while it runs."""
        return self._stopped_ns

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
