"""Faulty watermark generators and their outputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from flowsim.streamrecord.elements import WatermarkStatus
from flowsim.watermark.combined_watermark_status import CombinedWatermarkStatus
from flowsim.watermark.generators import WatermarkGenerator
from flowsim.watermark.idleness import PausableRelativeClock
from flowsim.watermark.status_watermark_valve import ValveOutput
from flowsim.watermark.watermark_output import WatermarkOutput
from flowsim.watermark.watermark_strategy import WatermarkStrategy

_AHEAD_MS: Final = 7


class UnflushedWatermarkStatus(CombinedWatermarkStatus):
    """Keeps the combined watermark when all participants are idle, instead of taking their maximum."""

    __slots__ = ()

    def _combine(self) -> tuple[int, bool]:
        if all(partial.idle for partial in self.partials):
            return self.combined_watermark, True
        return super()._combine()


class IdleCountingWatermarkStatus(CombinedWatermarkStatus):
    """Takes the minimum of all participants, also of those that are idle."""

    __slots__ = ()

    def _combine(self) -> tuple[int, bool]:
        _, is_idle = super()._combine()
        return min(partial.watermark for partial in self.partials), is_idle


class ActiveHidingOutput:
    """An output that drops the status ACTIVE, so that watermarks follow IDLE."""

    __slots__ = ("_output",)

    def __init__(self, output: ValveOutput) -> None:
        self._output = output

    def emit_watermark(self, timestamp: int) -> None:
        self._output.emit_watermark(timestamp)

    def emit_watermark_status(self, status: WatermarkStatus) -> None:
        if status is WatermarkStatus.IDLE:
            self._output.emit_watermark_status(status)


class StuckClock(PausableRelativeClock):
    """Pauses another clock, and never continues it."""

    __slots__ = ("_clock", "_is_stuck")

    def __init__(self, clock: PausableRelativeClock) -> None:
        super().__init__(clock.relative_time_ns)
        self._clock = clock
        self._is_stuck = False

    def pause(self) -> None:
        if not self._is_stuck:
            self._is_stuck = True
            self._clock.pause()

    def un_pause(self) -> None:
        """Does nothing."""


def early_strategy(strategy: WatermarkStrategy) -> WatermarkStrategy:
    """Returns the strategy with generators whose watermarks are too early for the records."""
    create = strategy.generator_factory
    return replace(strategy, generator_factory=lambda: EarlyWatermarkGenerator(create()))


class EarlyWatermarkGenerator(WatermarkGenerator):
    """A generator whose watermarks are all too early for the records."""

    __slots__ = ("_generator", "_ahead")

    def __init__(self, generator: WatermarkGenerator) -> None:
        self._generator = generator
        self._ahead = _AheadOutput()

    def on_event(self, value: object, timestamp: int, output: WatermarkOutput) -> None:
        self._ahead.output = output
        self._generator.on_event(value, timestamp, self._ahead)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        self._ahead.output = output
        self._generator.on_periodic_emit(self._ahead)

    def has_pending_effect(self, emitted: int) -> bool:
        return self._generator.has_pending_effect(emitted - _AHEAD_MS)


def skipping_strategy(strategy: WatermarkStrategy) -> WatermarkStrategy:
    """Returns the strategy with generators that skip the first periodic call after each record."""
    create = strategy.generator_factory
    return replace(strategy, generator_factory=lambda: SkippingWatermarkGenerator(create()))


def never_idle_strategy(strategy: WatermarkStrategy) -> WatermarkStrategy:
    """Returns the strategy without its idle timeout."""
    return replace(strategy, idle_timeout_ms=None)


class SkippingWatermarkGenerator(WatermarkGenerator):
    """A generator that skips the first periodic call after each record."""

    __slots__ = ("_generator", "_has_records")

    def __init__(self, generator: WatermarkGenerator) -> None:
        self._generator = generator
        self._has_records = False

    def on_event(self, value: object, timestamp: int, output: WatermarkOutput) -> None:
        self._has_records = True
        self._generator.on_event(value, timestamp, output)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        if not self._has_records:
            self._generator.on_periodic_emit(output)
        self._has_records = False

    def has_pending_effect(self, emitted: int) -> bool:
        return self._generator.has_pending_effect(emitted)


class _AheadOutput:
    __slots__ = ("output",)

    output: WatermarkOutput

    def emit_watermark(self, timestamp: int) -> None:
        self.output.emit_watermark(timestamp + _AHEAD_MS)

    def mark_idle(self) -> None:
        self.output.mark_idle()

    def mark_active(self) -> None:
        self.output.mark_active()


FAULTY_MERGES: Final[dict[str, type[CombinedWatermarkStatus]]] = {
    "idle_splits_not_flushed": UnflushedWatermarkStatus,
    "idle_split_holds_back": IdleCountingWatermarkStatus,
}
FAULTY_STRATEGIES: Final[dict[str, Callable[[WatermarkStrategy], WatermarkStrategy]]] = {
    "watermark_too_high": early_strategy,
    "periodic_emit_skipped": skipping_strategy,
    "idleness_never_declared": never_idle_strategy,
}
