"""Rule 13.2 beside the real TimerGauge, on a clock that both read."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

from flowsim.tasks.timer_gauge import TimerGauge
from flowsim.units import NS_PER_MS
from tests.support.flink.machine import Differential, DifferentialMachine


class _Clock:
    def __init__(self, now_ns: int) -> None:
        self.now_ns = now_ns


class TimerGaugeMachine(DifferentialMachine):
    """One gauge of each, marked and updated alike while time passes, in steps from less than a millisecond to minutes."""

    subject = "TimerGauge"

    @initialize(
        start_ns=st.sampled_from([0, 1, NS_PER_MS - 1, NS_PER_MS, 10**9, 10**18]),
        seconds=st.sampled_from([60, 5, 3, 12, 17, 60]),
    )
    def begin(self, start_ns: int, seconds: int) -> None:
        java = self.flink.java.org.apache.flink
        self.real_clock = java.util.clock.ManualClock(start_ns)
        self.our_clock = _Clock(start_ns)
        self.real = java.runtime.metrics.TimerGauge(self.real_clock, seconds)
        self.ours = TimerGauge(self.our_clock, samples=max(seconds // 5, 1))
        self.nanoseconds = self.flink.java.java.util.concurrent.TimeUnit.NANOSECONDS

    @rule(step_ns=st.one_of(st.integers(0, 3 * NS_PER_MS), st.integers(0, 5 * 10**9), st.integers(0, 100 * 10**9)))
    def time_passes(self, step_ns: int) -> None:
        self.real_clock.advanceTime(step_ns, self.nanoseconds)
        self.our_clock.now_ns += step_ns
        self.compare()

    @rule()
    def mark_start(self) -> None:
        self.real.markStart()
        self.ours.mark_start()
        self.compare()

    @rule()
    def mark_end(self) -> None:
        self.real.markEnd()
        self.ours.mark_end()
        self.compare()

    @rule()
    def update(self) -> None:
        self.real.update()
        self.ours.update()
        self.compare()

    @rule(busy_ms=st.integers(0, 6000), rest_ms=st.integers(0, 6000), times=st.integers(1, 15))
    def many_intervals(self, busy_ms: int, rest_ms: int, times: int) -> None:
        """Enough of them go once round the ring."""
        for _ in range(times):
            self.mark_start()
            self.time_passes(busy_ms * NS_PER_MS)
            self.mark_end()
            self.time_passes(rest_ms * NS_PER_MS)
            self.update()

    def compare(self) -> None:
        theirs = self.flink.calls(
            self.real, "getValue", "getMaxSingleMeasurement", "getAccumulatedCount", "isMeasuring"
        )
        ours = self.ours
        self.same(theirs, lambda: [ours.value, ours.max_single_measurement_ms, ours.accumulated_ms, ours.is_measuring])


def test_gauge_equals_flinks(differential: Differential) -> None:
    differential.run(TimerGaugeMachine, examples=25)
