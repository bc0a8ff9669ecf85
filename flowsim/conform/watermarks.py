"""Timestamps and watermarks of the user on the real Flink."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from flowsim.conform.flink_contexts import FlinkSide
from flowsim.conform.unsupported import Unsupported
from flowsim.watermark.generators import WatermarkGenerator
from flowsim.watermark.watermark_strategy import WatermarkStrategy


class GeneratorFactory:
    """Makes the generator of one output, when Java asks for it."""

    def __init__(self, side: FlinkSide, create: Callable[[], WatermarkGenerator]) -> None:
        self._side = side
        self._create = create

    def open(self, *_: object) -> str:
        return str(self._side.objects.add(CalledGenerator(self._side, self._create())))


class CalledGenerator:
    """A generator; each call answers ``w`` and a watermark, ``i`` idle or ``a`` active, with commas."""

    def __init__(self, side: FlinkSide, generator: WatermarkGenerator) -> None:
        self._side = side
        self._generator = generator
        self._orders: list[str] = []

    def on_event(self, record: int, timestamp: int, _: str) -> str:
        self._generator.on_event(self._side.values.value(record), timestamp, self)
        return self._taken()

    def on_periodic_emit(self, *_: object) -> str:
        self._generator.on_periodic_emit(self)
        return self._taken()

    def emit_watermark(self, timestamp: int) -> None:
        self._orders.append(f"w{timestamp}")

    def mark_idle(self) -> None:
        self._orders.append("i")

    def mark_active(self) -> None:
        self._orders.append("a")

    def _taken(self) -> str:
        orders, self._orders = self._orders, []
        return ",".join(orders)


class AssignerFactory:
    """Makes the timestamp assigner of one output."""

    def __init__(self, side: FlinkSide, extract: Callable[[Any, int], object]) -> None:
        self._side = side
        self._extract = extract

    def open(self, *_: object) -> str:
        return str(self._side.objects.add(self))

    def extract_timestamp(self, record: int, timestamp: int, _: str) -> str:
        extracted = self._extract(self._side.values.value(record), timestamp)
        if type(extracted) is not int:
            raise ValueError(f"the record has no timestamp: {extracted!r}")
        return str(extracted)


def described_strategy(side: FlinkSide, strategy: WatermarkStrategy) -> Mapping[str, object]:
    """Describes a strategy for Java. Raises Unsupported for what Flink does not have."""
    if strategy.on_missing_timestamp != "fail":
        raise Unsupported("missing timestamps other than `fail` are flowsim's own")
    described: dict[str, object] = dict(strategy.params)
    if described.get("group") is not None:
        raise Unsupported("Flink's coordinator announces the alignment of watermarks on the real clock")
    ready_made = described["kind"] in ("none", "bounded", "monotonous") and not described.get("per_record")
    if not ready_made:
        described["kind"] = "own"
        described["generator"] = side.objects.add(GeneratorFactory(side, strategy.generator_factory))
    if strategy.timestamp_extractor is not None:
        described["assigner"] = side.objects.add(AssignerFactory(side, strategy.timestamp_extractor))
    return described
