"""Buffer sizes that follow the throughput (rules 6.22-6.24); the numbers are those of the real classes."""

from __future__ import annotations

import pytest

from flowsim.network.gates.buffer_debloater import BufferDebloater, BufferSizeEMA, ThroughputCalculator
from flowsim.task_clock import TaskClock
from flowsim.units import NS_PER_MS


def test_average_has_weight_two_over_samples_plus_one() -> None:
    ema = BufferSizeEMA(32768, 32768, 256, 20)
    assert [ema.calculate_buffer_size(100_000, 10) for _ in range(3)] == [30600, 28638, 26863]


def test_size_at_most_doubles_and_stays_within_bounds() -> None:
    ema = BufferSizeEMA(1000, 1500, 256, 1)
    assert [ema.calculate_buffer_size(1_000_000, 1), ema.calculate_buffer_size(0, 1)] == [1500, 256]


def test_size_is_announced_when_change_reaches_threshold() -> None:
    """From 1000 with weight 1: 20 % away is too near, 25 % is announced."""
    debloater = BufferDebloater(1000, 1000, 32768, 256, 25, 1)
    assert debloater.recalculate_buffer_size(1200, 1) is None
    assert debloater.recalculate_buffer_size(751, 1) is None
    assert debloater.recalculate_buffer_size(750, 1) == 750
    assert debloater.last_bytes == 750


@pytest.mark.parametrize(("throughput", "size"), [(0, 256), (1_000_000, 300)])
def test_bound_is_announced_even_below_threshold(throughput: int, size: int) -> None:
    debloater = BufferDebloater(1000, 280, 300, 256, 25, 1)
    assert debloater.recalculate_buffer_size(throughput, 1) == size
    assert debloater.recalculate_buffer_size(throughput, 1) is None


def test_throughput_counts_only_time_with_data() -> None:
    clock = TaskClock(1000 * NS_PER_MS)
    meter = ThroughputCalculator(clock)
    meter.incoming_data_size(500)
    clock.now_ns += 100 * NS_PER_MS
    meter.pause_measurement()
    clock.now_ns += 900 * NS_PER_MS
    meter.resume_measurement()
    clock.now_ns += 100 * NS_PER_MS
    assert meter.calculate_throughput() == 2500


def test_throughput_without_elapsed_time_repeats_the_last() -> None:
    clock = TaskClock(5 * NS_PER_MS)
    meter = ThroughputCalculator(clock)
    meter.incoming_data_size(10)
    clock.now_ns += 10 * NS_PER_MS
    assert [meter.calculate_throughput(), meter.calculate_throughput()] == [1000, 1000]
