"""What faulty valves, generators and outputs of watermarks emit."""

from __future__ import annotations

from flowsim.faults.event_time import IdleValveWithoutMaximum, MaximumWatermarkValve
from flowsim.streamrecord.elements import WatermarkStatus
from flowsim.watermark.watermark_strategy import WatermarkStrategy
from flowsim.watermark.watermark_to_data_output import WatermarkToDataOutput
from tests.support.faults.watermarks import ActiveHidingOutput, early_strategy

ACTIVE, IDLE = WatermarkStatus.ACTIVE, WatermarkStatus.IDLE


class Emitted:
    """An output of a valve and of a generator that keeps everything."""

    def __init__(self) -> None:
        self.elements: list[int | WatermarkStatus] = []

    def emit_watermark(self, timestamp: int) -> None:
        self.elements.append(timestamp)

    def emit_watermark_status(self, status: WatermarkStatus) -> None:
        self.elements.append(status)

    def mark_idle(self) -> None:
        self.elements.append(IDLE)

    def mark_active(self) -> None:
        self.elements.append(ACTIVE)


def now() -> int:
    return 1


def test_maximum_valve_emits_watermark_of_fastest_aligned_channel() -> None:
    emitted = Emitted()
    valve = MaximumWatermarkValve(2, emitted)
    valve.input_watermark(10, 0)
    valve.input_watermark(4, 1)
    valve.input_watermark(12, 1)
    assert emitted.elements == [10, 12]


def test_maximum_valve_ignores_unaligned_channel() -> None:
    emitted = Emitted()
    valve = MaximumWatermarkValve(2, emitted)
    valve.input_watermark(10, 0)
    valve.input_watermark_status(IDLE, 1)
    valve.input_watermark_status(ACTIVE, 1)
    valve.input_watermark(3, 1)
    assert emitted.elements == [10]


def test_idle_valve_does_not_emit_the_highest_watermark() -> None:
    emitted = Emitted()
    valve = IdleValveWithoutMaximum(2, emitted)
    valve.input_watermark(10, 0)
    valve.input_watermark(20, 1)
    valve.input_watermark_status(IDLE, 1)
    valve.input_watermark_status(IDLE, 0)
    assert emitted.elements == [10, IDLE]


def test_early_strategy_emits_watermark_ahead_of_records() -> None:
    strategy = early_strategy(WatermarkStrategy.for_monotonous_timestamps())
    generator, emitted = strategy.create_generator(now), Emitted()
    generator.on_event("x", 10, emitted)
    assert generator.has_pending_effect(9)
    generator.on_periodic_emit(emitted)
    assert emitted.elements == [16]
    assert not generator.has_pending_effect(16)


def test_active_hiding_output_passes_watermarks_and_idle() -> None:
    emitted = Emitted()
    output = WatermarkToDataOutput(ActiveHidingOutput(emitted))
    output.emit_watermark(1)
    output.mark_idle()
    output.emit_watermark(2)
    assert emitted.elements == [1, IDLE, 2]
