"""Custom, punctuated, observed and faulty watermark generators."""

from __future__ import annotations

import pytest

from flowsim.errors import BadInput
from flowsim.units import NO_TIMESTAMP
from flowsim.watermark.recorded_watermarks import ObservedGenerator
from flowsim.watermark.user_generator import WatchedGenerator, watched
from flowsim.watermark.watermark_output import WatermarkOutput
from flowsim.watermark.watermark_strategy import WatermarkStrategy


class Heard:
    def __init__(self) -> None:
        self.said: list[object] = []

    def emit_watermark(self, timestamp: int) -> None:
        self.said.append(timestamp)

    def mark_idle(self) -> None:
        self.said.append("idle")

    def mark_active(self) -> None:
        self.said.append("active")


class Creeping:
    """Says one more at each periodic call until it has reached the last record."""

    def __init__(self) -> None:
        self.last = self.said = 0

    def on_event(self, event: object, timestamp: int, output: WatermarkOutput) -> None:
        self.last = timestamp

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        if self.said < self.last:
            self.said += 1
            output.emit_watermark(self.said)


def now() -> int:
    return 1


def test_custom_generator_is_pending_while_it_emits_new_watermarks() -> None:
    """D4: a run goes on while a periodic call may have an effect, and no longer."""
    generator = WatermarkStrategy.for_generator(Creeping).create_generator(now)
    heard = Heard()
    assert not generator.has_pending_effect(NO_TIMESTAMP)
    generator.on_event("x", 2, heard)
    pending = []
    for _ in range(4):
        pending.append(generator.has_pending_effect(NO_TIMESTAMP))
        generator.on_periodic_emit(heard)
    assert heard.said == [1, 2]
    assert pending == [True, True, True, False]


def test_changed_statuses_are_a_pending_effect() -> None:
    class Sleepy:
        def on_event(self, event: object, timestamp: int, output: WatermarkOutput) -> None:
            output.mark_active()

        def on_periodic_emit(self, output: WatermarkOutput) -> None:
            output.mark_idle()

    generator, heard = WatchedGenerator(Sleepy()), Heard()
    generator.on_event("x", 1, heard)
    generator.on_periodic_emit(heard)
    assert generator.has_pending_effect(0)
    generator.on_periodic_emit(heard)
    assert not generator.has_pending_effect(0)
    assert heard.said == ["active", "idle", "idle"]


def test_invalid_watermark_is_refused_with_name_of_generator() -> None:
    class Wrong(Creeping):
        def on_event(self, event: object, timestamp: int, output: WatermarkOutput) -> None:
            output.emit_watermark(1.5)  # type: ignore[arg-type]

    with pytest.raises(BadInput, match=r"watermark generator Wrong: expected whole milliseconds of 64 bits, got 1\.5"):
        WatermarkStrategy.for_generator(Wrong).create_generator(now).on_event("x", 1, Heard())


def test_object_without_generator_methods_is_refused() -> None:
    with pytest.raises(TypeError, match="expected a WatermarkGenerator, got 5 without on_event"):
        WatermarkStrategy.for_generator(lambda: 5).create_generator(now)  # type: ignore[arg-type, return-value]


def test_provided_generator_is_not_wrapped() -> None:
    generator = WatermarkStrategy.for_monotonous_timestamps().create_generator(now)
    assert watched(generator) is generator


def test_punctuated_generator_emits_watermark_of_record() -> None:
    """Rule 8.3."""
    strategy = WatermarkStrategy.for_punctuated(lambda value, timestamp: timestamp - 1 if value == "mark" else None)
    generator, heard = strategy.create_generator(now), Heard()
    generator.on_event("other", 4, heard)
    generator.on_event("mark", 7, heard)
    generator.on_periodic_emit(heard)
    assert heard.said == [6]
    assert not strategy.periodic
    assert not generator.has_pending_effect(6)
    wrong = WatermarkStrategy.for_punctuated(lambda value, timestamp: "late")  # type: ignore[arg-type, return-value]
    with pytest.raises(BadInput, match="a punctuated watermark: expected whole milliseconds of 64 bits, got 'late'"):
        wrong.create_generator(now).on_event("x", 1, heard)


def test_observed_generator_counts_record_before_its_watermark() -> None:
    observed = ObservedGenerator(WatermarkStrategy.for_each_record(0).create_generator(now))
    seen: list[tuple[int, int, int]] = []

    class Noting(Heard):
        def emit_watermark(self, timestamp: int) -> None:
            seen.append((timestamp, *observed.seen()))

    for timestamp in (5, 3, 9):
        observed.on_event("x", timestamp, Noting())
    observed.on_periodic_emit(Noting())
    assert seen == [(4, 1, 5), (4, 2, 5), (8, 3, 9)]
    assert not observed.has_pending_effect(8)


def test_strategy_params_describe_its_kind() -> None:
    assert WatermarkStrategy.for_bounded_out_of_orderness(5).with_idleness(9).params == {
        "kind": "bounded", "bound_ms": 5, "per_record": False, "idle_ms": 9,
    }  # fmt: skip
    assert WatermarkStrategy.for_each_record(2).params == {"kind": "bounded", "bound_ms": 2, "per_record": True}
    assert WatermarkStrategy.for_monotonous_timestamps().params["kind"] == "monotonous"
    assert WatermarkStrategy.no_watermarks().params == {"kind": "none"}
    assert WatermarkStrategy.for_punctuated(lambda value, timestamp: None).params == {"kind": "punctuated"}
    assert WatermarkStrategy.for_generator(Creeping).params == {"kind": "custom"}
