"""Rule 13.2: the values of a time gauge, on a clock that the test sets."""

from __future__ import annotations

from flowsim.tasks.timer_gauge import TimerGauge
from flowsim.units import NS_PER_MS


class Clock:
    def __init__(self, now_ms: int) -> None:
        self.now_ns = now_ms * NS_PER_MS

    def advance(self, ms: int) -> None:
        self.now_ns += ms * NS_PER_MS


def interval(gauge: TimerGauge, clock: Clock, spent_ms: int, rest_ms: int) -> None:
    gauge.mark_start()
    clock.advance(spent_ms)
    gauge.mark_end()
    clock.advance(rest_ms)
    gauge.update()


def test_value_is_share_of_intervals_so_far() -> None:
    clock = Clock(1000)
    gauge = TimerGauge(clock)

    interval(gauge, clock, 2500, 2500)
    assert gauge.value == 500
    interval(gauge, clock, 0, 5000)

    assert gauge.value == 250
    assert gauge.max_single_measurement_ms == 0
    assert gauge.accumulated_ms == 2500


def test_running_measurement_counts_up_to_update() -> None:
    clock = Clock(1000)
    gauge = TimerGauge(clock)

    gauge.mark_start()
    for _ in range(2):
        clock.advance(5000)
        gauge.update()

    assert gauge.is_measuring
    assert gauge.value == 1000
    assert gauge.max_single_measurement_ms == 10_000
    assert gauge.accumulated_ms == 10_000


def test_oldest_of_twelve_samples_is_dropped() -> None:
    clock = Clock(1000)
    gauge = TimerGauge(clock)

    interval(gauge, clock, 5000, 0)
    for _ in range(11):
        interval(gauge, clock, 1000, 4000)
    assert gauge.value == (5000 + 11 * 1000) // (5 * 12)
    interval(gauge, clock, 0, 5000)

    assert gauge.value == 11 * 1000 // (5 * 12)


def test_measurement_started_at_time_zero_is_lost() -> None:
    clock = Clock(0)
    gauge = TimerGauge(clock)

    gauge.mark_start()
    assert not gauge.is_measuring
    clock.advance(5000)
    gauge.mark_end()
    gauge.update()

    assert gauge.value == 0


def test_value_of_other_interval_is_milliseconds_per_second() -> None:
    clock = Clock(1000)
    gauge = TimerGauge(clock, interval_ms=100)

    interval(gauge, clock, 25, 75)

    assert gauge.value == 250


def test_shortened_last_interval_counts_with_its_length() -> None:
    clock = Clock(1000)
    gauge = TimerGauge(clock)

    interval(gauge, clock, 5000, 0)
    gauge.mark_start()
    clock.advance(100)
    gauge.mark_end()
    clock.advance(900)

    assert gauge.value == 1000
    assert gauge.value_with(1000) == 5100 * 1000 // 6000


def test_value_without_elapsed_time_is_zero() -> None:
    assert TimerGauge(Clock(1000)).value_with(0) == 0
