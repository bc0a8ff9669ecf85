"""When generators emit and become idle (rules 8.1-8.5), and their pending effects (D4)."""

from __future__ import annotations

import pytest

from flowsim.units import NO_TIMESTAMP, NS_PER_MS
from flowsim.watermark.generators import (
    AscendingTimestampsWatermarks,
    BoundedOutOfOrdernessWatermarks,
    NoWatermarks,
    PerRecordBoundedWatermarks,
    WatermarkGenerator,
)
from flowsim.watermark.idleness import WatermarksWithIdleness


class Listener:
    def __init__(self) -> None:
        self.heard: list[object] = []

    def emit_watermark(self, timestamp: int) -> None:
        self.heard.append(timestamp)

    def mark_idle(self) -> None:
        self.heard.append("idle")

    def mark_active(self) -> None:
        self.heard.append("active")


def after(generator: WatermarkGenerator, *timestamps: int) -> list[object]:
    listener = Listener()
    for timestamp in timestamps:
        generator.on_event("x", timestamp, listener)
    generator.on_periodic_emit(listener)
    return listener.heard


def test_bounded_watermark_is_bound_plus_one_behind_maximum() -> None:
    """Rule 8.1."""
    assert after(BoundedOutOfOrdernessWatermarks(5), 100, 97) == [94]
    assert after(AscendingTimestampsWatermarks(), 100) == [99]


def test_bounded_watermark_before_first_event_is_no_timestamp() -> None:
    """Rule 8.1: no underflow at the lower end of time."""
    assert after(BoundedOutOfOrdernessWatermarks(5)) == [NO_TIMESTAMP]


def test_negative_bound_is_refused() -> None:
    with pytest.raises(ValueError, match="0 ms or more, got -1"):
        BoundedOutOfOrdernessWatermarks(-1)


def test_per_record_generator_emits_at_every_record_and_never_periodically() -> None:
    assert after(PerRecordBoundedWatermarks(5), 100, 97, 103) == [94, 94, 97]


def test_no_watermarks_emits_nothing() -> None:
    assert after(NoWatermarks(), 1, 2) == []
    assert not NoWatermarks().has_pending_effect(NO_TIMESTAMP)


def test_unemitted_watermark_is_a_pending_effect() -> None:
    generator = BoundedOutOfOrdernessWatermarks(5)
    assert not generator.has_pending_effect(NO_TIMESTAMP)
    generator.on_event("x", 100, Listener())
    assert generator.has_pending_effect(93)
    assert not generator.has_pending_effect(94)
    per_record = PerRecordBoundedWatermarks(5)
    per_record.on_event("x", 100, Listener())
    assert not per_record.has_pending_effect(NO_TIMESTAMP)


class Clock:
    def __init__(self) -> None:
        self.now_ns = 1

    def __call__(self) -> int:
        return self.now_ns


def test_first_quiet_call_only_starts_the_idle_timeout() -> None:
    """Rule 8.4: idleness is declared at the first later call *more* than the timeout after it, and once."""
    clock, listener = Clock(), Listener()
    generator = WatermarksWithIdleness(AscendingTimestampsWatermarks(), 10, clock)
    generator.on_event("x", 5, listener)
    heard_at: list[tuple[int, list[object]]] = []
    for now_ms in (0, 200, 210, 211, 400):
        clock.now_ns = 1 + now_ms * NS_PER_MS
        listener.heard.clear()
        generator.on_periodic_emit(listener)
        heard_at.append((now_ms, list(listener.heard)))
    assert heard_at == [(0, [4]), (200, [4]), (210, [4]), (211, ["idle"]), (400, [])]


def test_idle_countdown_is_a_pending_effect_until_idle() -> None:
    clock, listener = Clock(), Listener()
    generator = WatermarksWithIdleness(NoWatermarks(), 10, clock)
    assert generator.has_pending_effect(NO_TIMESTAMP)
    generator.on_periodic_emit(listener)
    clock.now_ns += 11 * NS_PER_MS
    generator.on_periodic_emit(listener)
    assert listener.heard == ["idle"]
    assert not generator.has_pending_effect(NO_TIMESTAMP)
    generator.on_event("x", 1, listener)
    assert generator.has_pending_effect(NO_TIMESTAMP)


def test_idle_timeout_of_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="above 0 ms, got 0"):
        WatermarksWithIdleness(NoWatermarks(), 0, Clock())
