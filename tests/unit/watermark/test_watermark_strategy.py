"""The strategy that a user builds, and the two classes behind it."""

from __future__ import annotations

import pytest

from flowsim.streamrecord.elements import WatermarkStatus
from flowsim.watermark.generators import BoundedOutOfOrdernessWatermarks, NoWatermarks, PerRecordBoundedWatermarks
from flowsim.watermark.idleness import PausableRelativeClock, WatermarksWithIdleness
from flowsim.watermark.watermark_strategy import WatermarkStrategy
from flowsim.watermark.watermark_to_data_output import WatermarkToDataOutput


def now() -> int:
    return 1


def test_strategy_creates_own_generator_for_every_subtask() -> None:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(20)
    first, second = strategy.create_generator(now), strategy.create_generator(now)
    assert type(first) is BoundedOutOfOrdernessWatermarks
    assert first is not second


def test_adding_settings_does_not_change_the_strategy() -> None:
    plain = WatermarkStrategy.no_watermarks()
    settled = plain.with_idleness(5).with_timestamp_assigner(lambda value, timestamp: timestamp + 1)
    assert type(plain.create_generator(now)) is NoWatermarks
    assert plain.timestamp_extractor is None
    assert type(settled.create_generator(now)) is WatermarksWithIdleness
    assert settled.timestamp_extractor is not None
    assert settled.timestamp_extractor("x", 1) == 2


def test_strategy_is_periodic_only_when_calls_have_an_effect() -> None:
    assert WatermarkStrategy.for_monotonous_timestamps().periodic
    assert not WatermarkStrategy.for_each_record(3).periodic
    assert not WatermarkStrategy.no_watermarks().periodic
    assert WatermarkStrategy.for_each_record(3).with_idleness(1).periodic
    assert type(WatermarkStrategy.for_each_record(3).create_generator(now)) is PerRecordBoundedWatermarks


def test_invalid_bound_or_timeout_is_refused_when_built() -> None:
    with pytest.raises(ValueError, match="0 ms or more"):
        WatermarkStrategy.for_bounded_out_of_orderness(-1)
    with pytest.raises(ValueError, match="0 ms or more"):
        WatermarkStrategy.for_each_record(-1)
    with pytest.raises(ValueError, match="above 0 ms"):
        WatermarkStrategy.no_watermarks().with_idleness(0)


class Stream:
    def __init__(self) -> None:
        self.heard: list[int | WatermarkStatus] = []

    def emit_watermark(self, timestamp: int) -> None:
        self.heard.append(timestamp)

    def emit_watermark_status(self, status: WatermarkStatus) -> None:
        self.heard.append(status)


def test_output_emits_only_increasing_watermarks_after_active() -> None:
    """Rule 8.5."""
    stream = Stream()
    output = WatermarkToDataOutput(stream)
    output.emit_watermark(5)
    output.emit_watermark(5)
    output.mark_idle()
    output.mark_idle()
    output.emit_watermark(4)
    output.emit_watermark(6)
    output.mark_active()
    assert stream.heard == [5, WatermarkStatus.IDLE, WatermarkStatus.ACTIVE, 6]


def test_relative_clock_stops_while_paused_and_pauses_nest() -> None:
    """Rule 8.4: back pressure does not count as idle time, and pauses nest."""
    times = iter((100, 150, 175, 180))
    clock = PausableRelativeClock(lambda: next(times))
    assert clock.relative_time_ns() == 100
    clock.pause()  # at 150
    clock.pause()
    assert clock.relative_time_ns() == 150
    clock.un_pause()
    assert clock.relative_time_ns() == 150
    clock.un_pause()  # at 175
    assert clock.relative_time_ns() == 155
    with pytest.raises(ValueError, match="un_pause without pause"):
        clock.un_pause()
