"""An output of a source with a strategy for timestamps and watermarks. Flink: SourceOutputWithWatermarks."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from flowsim.operators.missing_timestamps import MissingTimestamps
from flowsim.operators.stream_operator import OperatorContext, Value, checked_timestamp
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP
from flowsim.watermark.generators import WatermarkGenerator, WatermarkOutput
from flowsim.watermark.watermark_strategy import TimestampExtractor


class SourceOutputWithWatermarks:
    """Assigns a timestamp to each record, emits it, then calls its generator (rules 8.1-8.5).

    At a record, the generator emits to ``on_event_output``, as the reader itself does. Periodically, the generator
    emits to ``periodic_output``. Flink: SourceOutputWithWatermarks.
    """

    __slots__ = (
        "records",
        "cost_ns",
        "on_event_output",
        "periodic_output",
        "generator",
        "_clock",
        "_collect",
        "_extract",
        "_operator_name",
        "_missing",
    )

    def __init__(
        self,
        ctx: OperatorContext,
        collect: Callable[[Value, int | None], None],
        extract: TimestampExtractor | None,
        missing: MissingTimestamps,
        generator: WatermarkGenerator,
        on_event_output: WatermarkOutput,
        periodic_output: WatermarkOutput,
    ) -> None:
        self.records = 0
        self.cost_ns = ctx.cost_ns
        self.on_event_output = on_event_output
        self.periodic_output = periodic_output
        self.generator = generator
        self._clock = ctx.clock
        self._collect = collect
        self._extract = extract
        self._operator_name = ctx.operator_name
        self._missing = missing

    def collect(self, value: Value, timestamp: int | None) -> None:
        self._clock.now_ns += self.cost_ns
        self.records += 1
        extract = self._extract
        if extract is not None:
            new_timestamp = extract(value, NO_TIMESTAMP if timestamp is None else timestamp)
        else:
            new_timestamp = NO_TIMESTAMP if timestamp is None else timestamp
        # ``checked_timestamp`` inlined here and below, because a call would cost twice as much.
        if type(new_timestamp) is not int or new_timestamp > MAX_WATERMARK or new_timestamp < NO_TIMESTAMP:
            self._without_timestamp(value, new_timestamp, NO_TIMESTAMP if timestamp is None else timestamp)
            return
        # Rule 8.3: the record is emitted first, so that its watermark follows it.
        self._collect(value, new_timestamp)
        self.generator.on_event(value, new_timestamp, self.on_event_output)

    def collect_batch(self, values: Iterator[Value]) -> bool:
        """Does the same as ``collect`` for each value, but reads attributes that are constant during a batch once."""
        clock, collect = self._clock, self._collect
        extract, on_event, watermarks = self._extract or _no_timestamp, self.generator.on_event, self.on_event_output
        lowest, highest = NO_TIMESTAMP, MAX_WATERMARK
        records = 0
        try:
            for value in values:
                # Read every time: a record that blocks ends one batch and starts another, with another cost.
                clock.now_ns += self.cost_ns
                records += 1
                timestamp = extract(value, NO_TIMESTAMP)
                if type(timestamp) is not int or timestamp > highest or timestamp < lowest:
                    self._without_timestamp(value, timestamp, NO_TIMESTAMP)
                else:
                    collect(value, timestamp)
                    on_event(value, timestamp, watermarks)
                if clock.now_ns >= clock.batch_end_ns:
                    return True
        finally:
            self.records += records
        return False

    def emit_watermark(self, timestamp: int) -> None:
        self.on_event_output.emit_watermark(checked_timestamp(timestamp, f"{self._operator_name}: watermark"))

    def mark_idle(self) -> None:
        self.on_event_output.mark_idle()

    def mark_active(self) -> None:
        self.on_event_output.mark_active()

    def emit_periodic_watermark(self) -> None:
        self.generator.on_periodic_emit(self.periodic_output)

    def _without_timestamp(self, value: Value, timestamp: object, previous: int) -> None:
        """A record whose timestamp is missing or invalid; raises BadInput unless it may be missing."""
        if self._extract is None:
            checked_timestamp(timestamp, f"{self._operator_name}: timestamp of a record")
        self._missing.handle(value, timestamp, previous)


def _no_timestamp(value: Value, previous: int) -> int:
    return previous
