"""Assigns timestamps and generates watermarks. Flink: TimestampsAndWatermarksOperator (rules 8.1-8.7)."""

from __future__ import annotations

from flowsim.operators.missing_timestamps import MissingTimestamps
from flowsim.operators.stream_operator import OperatorContext, StreamOperator, Value
from flowsim.streamrecord.elements import WatermarkStatus
from flowsim.streamrecord.output import Output
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP, ORDINARY_TIMESTAMP
from flowsim.watermark.generators import WatermarkGenerator
from flowsim.watermark.idleness import PausableRelativeClock
from flowsim.watermark.recorded_watermarks import ObservedGenerator, RecordedWatermarks
from flowsim.watermark.status_watermark_valve import ValveOutput
from flowsim.watermark.watermark_strategy import TimestampExtractor, WatermarkStrategy
from flowsim.watermark.watermark_to_data_output import WatermarkToDataOutput


class TimestampsAndWatermarksOperator(StreamOperator):
    """Forwards records with a new timestamp, and generates watermarks. Flink: TimestampsAndWatermarksOperator.

    Input watermarks are dropped except MAX_WATERMARK; input statuses are always dropped (rule 8.7). Periodic emission
    registers its next timer ``interval`` after each run, so it drifts (rule 8.2).
    """

    __slots__ = (
        "_input_activity_clock",
        "watermark_output",
        "strategy",
        "_interval_ms",
        "_generator",
        "_extract",
        "_missing",
    )

    _input_activity_clock: PausableRelativeClock
    watermark_output: WatermarkToDataOutput
    _generator: WatermarkGenerator
    _extract: TimestampExtractor | None
    _missing: MissingTimestamps

    def __init__(self, strategy: WatermarkStrategy, auto_watermark_interval_ms: int = 200) -> None:
        self.strategy = strategy
        self._interval_ms = auto_watermark_interval_ms

    def setup(self, ctx: OperatorContext, output: Output) -> None:
        super().setup(ctx, output)
        if ctx.is_batch:
            self.strategy = self.strategy.without_watermarks()
        clock = ctx.clock
        self._input_activity_clock = activity = PausableRelativeClock(lambda: clock.now_ns)
        generator = self.strategy.create_generator(activity.relative_time_ns, activity.is_paused)
        stream: ValveOutput = output
        if ctx.trace is not None:
            generator = observed = ObservedGenerator(generator)
            stream = RecordedWatermarks(ctx.trace, ctx.operator_index, observed, output)
        self.watermark_output = ctx.components.create_watermark_output(stream)
        self._generator = generator
        self._extract = self.strategy.timestamp_extractor
        self._missing = MissingTimestamps(self.strategy, output, ctx.operator_name)

    @property
    def input_activity_clock(self) -> PausableRelativeClock:
        return self._input_activity_clock

    def open(self) -> None:
        self._schedule_periodic_emit()

    def process_element(self, value: Value, timestamp: int | None) -> None:
        self.clock.now_ns += self.cost_ns
        self.records_in += 1
        previous = NO_TIMESTAMP if timestamp is None else timestamp
        extract = self._extract
        new_timestamp = previous if extract is None else extract(value, previous)
        if type(new_timestamp) is not int or (
            (new_timestamp > ORDINARY_TIMESTAMP or new_timestamp < -ORDINARY_TIMESTAMP)
            and (new_timestamp > MAX_WATERMARK or new_timestamp < NO_TIMESTAMP)
        ):
            self._missing.handle(value, new_timestamp, previous)
            self.records_dropped += 1
            return
        # Rule 8.3: the record is emitted first, so that its watermark follows it.
        self.collector.collect(value, new_timestamp)
        self._generator.on_event(value, new_timestamp, self.watermark_output)

    def process_watermark(self, timestamp: int) -> None:
        if timestamp == MAX_WATERMARK:
            self.watermark_output.emit_watermark(MAX_WATERMARK)

    def process_watermark_status(self, status: WatermarkStatus) -> None:
        """Drops the status (rule 8.7)."""

    def finish(self) -> None:
        self._generator.on_periodic_emit(self.watermark_output)

    def _schedule_periodic_emit(self) -> None:
        if self._interval_ms > 0 and self.strategy.periodic:
            service = self.ctx.processing_time
            due_ms = service.current_processing_time_ms() + self._interval_ms
            service.register_timer(due_ms, self._on_periodic_emit, daemon_while_not=self._has_pending_effect)

    def _on_periodic_emit(self, timestamp: int) -> None:
        self._generator.on_periodic_emit(self.watermark_output)
        self._schedule_periodic_emit()

    def _has_pending_effect(self) -> bool:
        return self._generator.has_pending_effect(self.watermark_output.current_watermark)
