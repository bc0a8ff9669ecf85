"""An output of a source with a strategy for timestamps and watermarks. Flink: SourceOutputWithWatermarks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mypy_extensions import mypyc_attr

from flowsim.failure_location import note_record
from flowsim.operators.missing_timestamps import MissingTimestamps
from flowsim.operators.stream_operator import OperatorContext, Value, checked_timestamp
from flowsim.streamrecord.output import Output
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP, ORDINARY_TIMESTAMP
from flowsim.watermark.generators import WatermarkGenerator
from flowsim.watermark.watermark_output import WatermarkOutput
from flowsim.watermark.watermark_strategy import TimestampExtractor


@mypyc_attr(allow_interpreted_subclasses=True)
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
        "_collector",
        "_extract",
        "_operator_name",
        "_missing",
    )

    def __init__(
        self,
        ctx: OperatorContext,
        collector: Output,
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
        self._collector = collector
        self._extract = extract
        self._operator_name = ctx.operator_name
        self._missing = missing

    def collect(self, value: Value, timestamp: Any) -> None:
        """``timestamp`` is an int or None, but a user's reader may pass anything: it is checked here."""
        self._clock.now_ns += self.cost_ns
        self.records += 1
        try:
            self._emit(value, self._extract, timestamp)
        except BaseException as error:
            note_record(error, self._operator_name, value, None)
            raise

    def collect_batch(self, values: Iterator[Value]) -> bool:
        """Does the same as ``collect`` for each value, but reads attributes that are constant during a batch once."""
        clock, extract = self._clock, self._extract
        for value in values:
            # The cost is read every time: a record that blocks ends one batch and starts another, with another cost.
            clock.now_ns += self.cost_ns
            self.records += 1
            try:
                self._emit(value, extract, None)
            except BaseException as error:
                note_record(error, self._operator_name, value, None)
                raise
            if clock.now_ns >= clock.batch_end_ns:
                return True
        return False

    def _emit(self, value: Value, extract: TimestampExtractor | None, timestamp: Any) -> None:
        previous = timestamp
        if timestamp is None:
            previous = NO_TIMESTAMP
        new_timestamp = previous if extract is None else extract(value, previous)
        # ``checked_timestamp`` inlined, because a call would cost twice as much.
        if type(new_timestamp) is not int or (
            (new_timestamp > ORDINARY_TIMESTAMP or new_timestamp < -ORDINARY_TIMESTAMP)
            and (new_timestamp > MAX_WATERMARK or new_timestamp < NO_TIMESTAMP)
        ):
            self._without_timestamp(value, new_timestamp, previous)
            return
        # Rule 8.3: the record is emitted first, so that its watermark follows it.
        self._collector.collect(value, new_timestamp)
        self.generator.on_event(value, new_timestamp, self.on_event_output)

    def emit_watermark(self, timestamp: object) -> None:
        self.on_event_output.emit_watermark(checked_timestamp(timestamp, f"{self._operator_name}: watermark"))

    def mark_idle(self) -> None:
        self.on_event_output.mark_idle()

    def mark_active(self) -> None:
        self.on_event_output.mark_active()

    def emit_periodic_watermark(self) -> None:
        self.generator.on_periodic_emit(self.periodic_output)

    def _without_timestamp(self, value: Value, timestamp: object, previous: Any) -> None:
        """A record whose timestamp is missing or invalid; raises BadInput unless it may be missing."""
        if self._extract is None:
            checked_timestamp(timestamp, f"{self._operator_name}: timestamp of a record")
        self._missing.handle(value, timestamp, previous)
