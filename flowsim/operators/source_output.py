"""Where a source's reader emits. Flink: ReaderOutput, SourceContext, ProgressiveTimestampsAndWatermarks."""

from __future__ import annotations

from collections.abc import Iterator

from flowsim.operators.stream_operator import OperatorContext, Output, Value
from flowsim.operators.timestamps import checked_timestamp
from flowsim.streamrecord.elements import WatermarkStatus
from flowsim.units import NO_TIMESTAMP
from flowsim.watermark.pausable_relative_clock import PausableRelativeClock
from flowsim.watermark.watermark_strategy import WatermarkStrategy
from flowsim.watermark.watermark_to_data_output import WatermarkToDataOutput


class SourceOutput:
    """The reader emits watermarks and idleness itself. Flink: SourceContext (ManualWatermarkContext).

    Each record costs the source operator's time, which is added before the record goes out.
    """

    __slots__ = ("records", "cost_ns", "_clock", "_collect", "_output", "_idle")

    def __init__(self, ctx: OperatorContext, output: Output) -> None:
        self.records = 0
        self.cost_ns = ctx.cost_ns
        self._clock = ctx.clock
        self._collect = output.collect
        self._output = output
        self._idle = False

    def collect(self, value: Value, timestamp: int | None) -> None:
        """Emits one record; ``timestamp`` in ms, None when the reader knows none."""
        self._clock.now_ns += self.cost_ns
        self.records += 1
        if self._idle:
            self.mark_active()
        self._collect(value, timestamp)

    def collect_batch(self, values: Iterator[Value]) -> bool:
        """Emits values without timestamps until the batch ends; True when it ended, False when the values did."""
        clock = self._clock
        for value in values:
            self.collect(value, None)
            if clock.now_ns >= clock.batch_end_ns:
                return True
        return False

    def emit_watermark(self, timestamp: int) -> None:
        """Passes as it is, also when it goes back: a manual source is trusted."""
        if self._idle:
            self.mark_active()
        self._output.emit_watermark(timestamp)

    def mark_idle(self) -> None:
        """Downstream stops waiting for this source until the next record or watermark."""
        if not self._idle:
            self._idle = True
            self._output.emit_watermark_status(WatermarkStatus.IDLE)

    def mark_active(self) -> None:
        if self._idle:
            self._idle = False
            self._output.emit_watermark_status(WatermarkStatus.ACTIVE)

    def on_periodic_emit(self) -> None:
        """Nothing: nobody makes watermarks here but the reader."""

    def has_pending_effect(self) -> bool:
        return False


class SourceOutputWithWatermarks(SourceOutput):
    """A strategy gives timestamps and watermarks (rules 8.1-8.5). Flink: ProgressiveTimestampsAndWatermarks."""

    __slots__ = ("input_activity_clock", "watermark_output", "_generator", "_extract", "_assigner_name")

    def __init__(self, ctx: OperatorContext, output: Output, strategy: WatermarkStrategy) -> None:
        super().__init__(ctx, output)
        clock = ctx.clock
        self.input_activity_clock = activity = PausableRelativeClock(lambda: clock.now_ns)
        self.watermark_output = WatermarkToDataOutput(output)
        self._generator = strategy.create_generator(activity.relative_time_ns, activity.is_paused)
        self._extract = strategy.timestamp_extractor
        self._assigner_name = f"{ctx.operator_name}: timestamp assigner"

    def collect(self, value: Value, timestamp: int | None) -> None:
        self._clock.now_ns += self.cost_ns
        self.records += 1
        previous = NO_TIMESTAMP if timestamp is None else timestamp
        extract = self._extract
        if extract is None:
            new_timestamp = previous
        else:
            new_timestamp = checked_timestamp(extract(value, previous), self._assigner_name)
        # Rule 8.3: the record goes first, so that a watermark made from it follows it.
        self._collect(value, new_timestamp)
        self._generator.on_event(value, new_timestamp, self.watermark_output)

    def collect_batch(self, values: Iterator[Value]) -> bool:
        """As ``collect`` for each, with everything that stays the same during a batch looked up once."""
        clock, collect = self._clock, self._collect
        extract, on_event, watermarks = self._extract or _no_timestamp, self._generator.on_event, self.watermark_output
        records = 0
        try:
            for value in values:
                # Asked every time: a record that blocks inside ends one batch and begins another, at another cost.
                clock.now_ns += self.cost_ns
                records += 1
                timestamp = extract(value, NO_TIMESTAMP)
                collect(value, timestamp)
                on_event(value, timestamp, watermarks)
                if clock.now_ns >= clock.batch_end_ns:
                    return True
        finally:
            self.records += records
        return False

    def emit_watermark(self, timestamp: int) -> None:
        self.watermark_output.emit_watermark(timestamp)

    def mark_idle(self) -> None:
        self.watermark_output.mark_idle()

    def mark_active(self) -> None:
        self.watermark_output.mark_active()

    def on_periodic_emit(self) -> None:
        self._generator.on_periodic_emit(self.watermark_output)

    def has_pending_effect(self) -> bool:
        return self._generator.has_pending_effect(self.watermark_output.current_watermark)


def _no_timestamp(value: Value, previous: int) -> int:
    return previous
