"""Strategies that break a rule each, switched on by faults (``flowsim.cluster.faults``)."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from flowsim.watermark.generators import WatermarkGenerator, WatermarkOutput
from flowsim.watermark.watermark_strategy import WatermarkStrategy

FAULT_TOO_HIGH: Final = "watermark_too_high"

_AHEAD_MS: Final = 7


def strategy_under(strategy: WatermarkStrategy, faults: frozenset[str]) -> WatermarkStrategy:
    """The strategy that an operator with these faults runs; itself without them."""
    if FAULT_TOO_HIGH not in faults:
        return strategy
    make = strategy.generator_factory
    return replace(strategy, generator_factory=lambda: HastyGenerator(make()))


class HastyGenerator(WatermarkGenerator):
    """Every watermark is ahead of what the records allow."""

    __slots__ = ("_inner", "_ahead")

    def __init__(self, inner: WatermarkGenerator) -> None:
        self._inner = inner
        self._ahead = _Ahead()

    def on_event(self, value: object, timestamp: int, output: WatermarkOutput) -> None:
        self._ahead.output = output
        self._inner.on_event(value, timestamp, self._ahead)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        self._ahead.output = output
        self._inner.on_periodic_emit(self._ahead)

    def has_pending_effect(self, emitted: int) -> bool:
        return self._inner.has_pending_effect(emitted - _AHEAD_MS)


class _Ahead:
    __slots__ = ("output",)

    output: WatermarkOutput

    def emit_watermark(self, timestamp: int) -> None:
        self.output.emit_watermark(timestamp + _AHEAD_MS)

    def mark_idle(self) -> None:
        self.output.mark_idle()

    def mark_active(self) -> None:
        self.output.mark_active()
