"""One valve: what its channels receive, and what it emits "and nothing else" (rules 8.9-8.14)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowsim.streamrecord.elements import WatermarkStatus
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP
from flowsim.watermark.status_watermark_valve import StatusWatermarkValve

ACTIVE, IDLE = WatermarkStatus.ACTIVE, WatermarkStatus.IDLE


class ValveHarness:
    """A valve and what it said."""

    def __init__(self, channels: int) -> None:
        self.heard: list[int | WatermarkStatus] = []
        self.valve = StatusWatermarkValve(channels, self)

    def emit_watermark(self, timestamp: int) -> None:
        self.heard.append(timestamp)

    def emit_watermark_status(self, status: WatermarkStatus) -> None:
        self.heard.append(status)

    def watermark(self, timestamp: int, channel: int) -> list[int | WatermarkStatus]:
        self.heard.clear()
        self.valve.input_watermark(timestamp, channel)
        self.valve.validate()
        return list(self.heard)

    def status(self, status: WatermarkStatus, channel: int) -> list[int | WatermarkStatus]:
        self.heard.clear()
        self.valve.input_watermark_status(status, channel)
        self.valve.validate()
        return list(self.heard)


def test_single_channel_passes_only_increasing_watermarks() -> None:
    harness = ValveHarness(1)
    assert harness.watermark(5, 0) == [5]
    assert harness.watermark(5, 0) == []
    assert harness.watermark(4, 0) == []
    assert harness.watermark(MAX_WATERMARK, 0) == [MAX_WATERMARK]


def test_slowest_channel_determines_watermark() -> None:
    harness = ValveHarness(3)
    assert harness.watermark(10, 0) == []
    assert harness.watermark(7, 1) == []
    assert harness.watermark(3, 2) == [3]
    assert harness.watermark(12, 2) == [7]
    assert harness.watermark(12, 1) == [10]


def test_idle_channel_no_longer_holds_back_the_minimum() -> None:
    """Rule 8.10: the channel that went idle held the output, so the minimum of the rest comes out at once."""
    harness = ValveHarness(2)
    assert harness.watermark(10, 0) == []
    assert harness.status(IDLE, 1) == [10]


def test_all_channels_idle_emits_maximum_watermark() -> None:
    """Rule 8.10: the last channel to become idle determined the output; no other channel is active."""
    harness = ValveHarness(3)
    harness.watermark(9, 0)
    harness.watermark(5, 1)
    harness.watermark(4, 2)
    assert harness.status(IDLE, 0) == []
    assert harness.status(IDLE, 1) == []
    assert harness.status(IDLE, 2) == [9, IDLE]


def test_all_channels_idle_emits_no_watermark_if_last_was_behind_output() -> None:
    """Rule 8.13: the flush asks whether the *last* channel to go idle held the output, by equality."""
    harness = ValveHarness(3)
    harness.watermark(3, 1)
    harness.status(IDLE, 1)
    harness.watermark(20, 0)
    assert harness.watermark(8, 2) == [8]
    harness.status(ACTIVE, 1)
    assert harness.status(IDLE, 0) == []
    assert harness.status(IDLE, 2) == []
    assert harness.status(IDLE, 1) == [IDLE]
    assert harness.valve.last_output_watermark == 8


def test_each_idle_channel_at_the_output_releases_next_minimum() -> None:
    harness = ValveHarness(3)
    harness.watermark(20, 0)
    harness.watermark(5, 1)
    harness.watermark(8, 2)
    assert harness.status(IDLE, 1) == [8]
    assert harness.status(IDLE, 0) == []
    assert harness.status(IDLE, 2) == [20, IDLE]


def test_watermark_on_idle_channel_is_dropped() -> None:
    """Rule 8.14."""
    harness = ValveHarness(2)
    harness.status(IDLE, 1)
    assert harness.watermark(50, 1) == []
    assert harness.status(ACTIVE, 1) == []
    assert harness.watermark(60, 0) == []
    assert harness.watermark(2, 1) == [2]


def test_channel_behind_output_after_idleness_must_catch_up() -> None:
    """Rules 8.11, 8.13."""
    harness = ValveHarness(2)
    harness.watermark(1, 1)
    harness.watermark(1, 0)
    harness.status(IDLE, 1)
    assert harness.watermark(10, 0) == [10]
    assert harness.status(ACTIVE, 1) == []
    assert harness.watermark(5, 1) == []
    assert harness.watermark(11, 0) == [11]
    assert harness.watermark(11, 1) == []
    assert harness.watermark(20, 0) == []
    assert harness.watermark(15, 1) == [15]


def test_no_watermark_is_emitted_while_no_channel_is_aligned() -> None:
    """Rule 8.13: every active channel lags behind the output."""
    harness = ValveHarness(2)
    harness.watermark(10, 0)
    harness.status(IDLE, 1)
    assert harness.valve.last_output_watermark == 10
    harness.status(ACTIVE, 1)
    assert harness.status(IDLE, 0) == []
    assert harness.watermark(9, 1) == []
    assert harness.watermark(10, 1) == []
    assert harness.watermark(11, 1) == [11]


def test_repeated_statuses_are_ignored() -> None:
    """Rule 8.12."""
    harness = ValveHarness(1)
    assert harness.status(ACTIVE, 0) == []
    assert harness.status(IDLE, 0) == [IDLE]
    assert harness.status(IDLE, 0) == []
    assert harness.status(ACTIVE, 0) == [ACTIVE]


def test_fast_channel_stores_only_its_latest_watermark() -> None:
    harness = ValveHarness(2)
    for timestamp in range(1000):
        assert harness.watermark(timestamp, 0) == []
    assert harness.watermark(2000, 1) == [999]


def test_valve_without_channels_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one channel"):
        ValveHarness(0)


class NaiveValve:
    """Rules 8.9-8.11 written down without any cleverness."""

    def __init__(self, channels: int) -> None:
        self.watermarks = [NO_TIMESTAMP] * channels
        self.active = [True] * channels
        self.aligned = [True] * channels
        self.last, self.last_status = NO_TIMESTAMP, ACTIVE

    def watermark(self, timestamp: int, channel: int) -> list[int | WatermarkStatus]:
        if self.last_status is IDLE or not self.active[channel] or timestamp <= self.watermarks[channel]:
            return []
        self.watermarks[channel] = timestamp
        if timestamp >= self.last:
            self.aligned[channel] = True
        return self.minimum()

    def minimum(self) -> list[int | WatermarkStatus]:
        aligned = [w for w, a in zip(self.watermarks, self.aligned, strict=True) if a]
        return self.emit(min(aligned)) if aligned else []

    def emit(self, timestamp: int) -> list[int | WatermarkStatus]:
        if timestamp <= self.last:
            return []
        self.last = timestamp
        return [timestamp]

    def status(self, status: WatermarkStatus, channel: int) -> list[int | WatermarkStatus]:
        if (status is ACTIVE) == self.active[channel]:
            return []
        if status is ACTIVE:
            self.active[channel] = True
            self.aligned[channel] = self.watermarks[channel] >= self.last
            woke, self.last_status = self.last_status is IDLE, ACTIVE
            return [ACTIVE] if woke else []
        self.active[channel] = self.aligned[channel] = False
        held = self.watermarks[channel] == self.last
        if any(self.active):
            return self.minimum() if held else []
        flushed = self.emit(max(self.watermarks)) if held else []
        self.last_status = IDLE
        return [*flushed, IDLE]


COMMANDS = st.lists(
    st.tuples(st.integers(0, 2), st.one_of(st.integers(-3, 40), st.sampled_from([ACTIVE, IDLE, IDLE]))), max_size=60
)


@given(COMMANDS)
def test_valve_equals_naive_implementation_of_rules(
    commands: list[tuple[int, int | WatermarkStatus]],
) -> None:
    harness, naive = ValveHarness(3), NaiveValve(3)
    for channel, said in commands:
        if isinstance(said, WatermarkStatus):
            assert harness.status(said, channel) == naive.status(said, channel)
        else:
            assert harness.watermark(said, channel) == naive.watermark(said, channel)
