"""The outputs of a source without a watermark strategy: its reader emits event time itself. Flink: SourceContext."""

from __future__ import annotations

from collections.abc import Iterator

from flowsim.failure_location import note_record
from flowsim.operators.sources.source_output import SourceOutput
from flowsim.operators.stream_operator import OperatorContext, Value, checked_timestamp
from flowsim.streamrecord.elements import WatermarkStatus
from flowsim.streamrecord.output import Output
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP
from flowsim.watermark.idleness import PausableRelativeClock
from flowsim.watermark.status_watermark_valve import ValveOutput
from flowsim.watermark.watermark_output import WatermarkOutput
from flowsim.watermark.watermark_output_multiplexer import WatermarkOutputMultiplexer
from flowsim.watermark.watermark_to_data_output import MainWatermarkOutput


class ManualSourceOutput:
    """Forwards watermarks and idleness of the reader.

    A record after an idle time makes the stream active.

    Flink: SourceContext (ManualWatermarkContext).
    """

    __slots__ = (
        "records",
        "cost_ns",
        "missing_timestamp",
        "_clock",
        "_collector",
        "_watermarks",
        "_idle",
        "_operator_name",
    )

    missing_timestamp: int | None
    """The timestamp in ms of records without one: none in a source function, ``NO_TIMESTAMP`` in a source with splits."""

    def __init__(self, ctx: OperatorContext, collector: Output, watermarks: WatermarkOutput) -> None:
        self.records = 0
        self.cost_ns = ctx.cost_ns
        self.missing_timestamp = None
        self._clock = ctx.clock
        self._collector = collector
        self._watermarks = watermarks
        self._idle = False
        self._operator_name = ctx.operator_name

    def collect(self, value: Value, timestamp: int | None) -> None:
        self._clock.now_ns += self.cost_ns
        self.records += 1
        try:
            # ``checked_timestamp`` inlined, because a call would cost twice as much.
            if timestamp is not None and (
                type(timestamp) is not int or timestamp > MAX_WATERMARK or timestamp < NO_TIMESTAMP
            ):
                checked_timestamp(timestamp, f"{self._operator_name}: timestamp of a record")
            collector = self._collector
            if self._idle:
                # The source is idle until it has the record.
                collector = collector.charge(value)
                self.mark_active()
            collector.collect(value, self.missing_timestamp if timestamp is None else timestamp)
        except BaseException as error:
            note_record(error, self._operator_name, value, None)
            raise

    def collect_batch(self, values: Iterator[Value]) -> bool:
        clock = self._clock
        for value in values:
            self.collect(value, None)
            if clock.now_ns >= clock.batch_end_ns:
                return True
        return False

    def emit_watermark(self, timestamp: int) -> None:
        checked_timestamp(timestamp, f"{self._operator_name}: watermark")
        if self._idle:
            self.mark_active()
        self._watermarks.emit_watermark(timestamp)

    def mark_idle(self) -> None:
        if not self._idle:
            self._idle = True
            self._watermarks.mark_idle()

    def mark_active(self) -> None:
        if self._idle:
            self._idle = False
            self._watermarks.mark_active()


class _AsItIs:
    """Passes the reader's watermarks unchanged, even if they decrease; used without splits."""

    __slots__ = ("current_watermark", "_output")

    def __init__(self, output: ValveOutput) -> None:
        self.current_watermark = NO_TIMESTAMP
        self._output = output

    def emit_watermark(self, timestamp: int) -> None:
        self.current_watermark = timestamp
        self._output.emit_watermark(timestamp)

    def mark_idle(self) -> None:
        self._output.emit_watermark_status(WatermarkStatus.IDLE)

    def mark_active(self) -> None:
        self._output.emit_watermark_status(WatermarkStatus.ACTIVE)


class _Dropped:
    """Drops watermarks and statuses, because the job runs in BATCH mode."""

    __slots__ = ()

    def emit_watermark(self, timestamp: int) -> None:
        """Drops the watermark."""

    def emit_watermark_status(self, status: WatermarkStatus) -> None:
        """Drops the status."""


class ManualReaderOutput(ManualSourceOutput):
    """The main output of a source whose reader emits event time itself.

    Watermarks of splits are merged; then only increasing watermarks pass.

    flowsim's own: Flink's sources of this kind have no splits.
    """

    __slots__ = ("_ctx", "_event_time", "_as_it_is", "_splits", "_multiplexer", "_released_records")

    def __init__(self, ctx: OperatorContext, output: Output) -> None:
        event_time: ValveOutput = _Dropped() if ctx.is_batch else output
        self._as_it_is = _AsItIs(event_time)
        super().__init__(ctx, output.collector, self._as_it_is)
        self._ctx = ctx
        self._event_time = event_time
        self._splits: dict[str, ManualSourceOutput] = {}
        self._multiplexer: WatermarkOutputMultiplexer | None = None
        self._released_records = 0

    @property
    def input_activity_clock(self) -> PausableRelativeClock | None:
        """Always None: this output measures no idleness."""
        return None

    @property
    def total_records(self) -> int:
        """The number of records of the main output and of all splits."""
        return self.records + self._released_records + sum(split.records for split in self._splits.values())

    def set_cost_ns(self, cost_ns: int) -> None:
        """Sets the cost of a record."""
        self.cost_ns = cost_ns
        for split in self._splits.values():
            split.cost_ns = cost_ns

    def create_output_for_split(self, split_id: str) -> SourceOutput:
        split = self._splits.get(split_id)
        if split is None:
            multiplexer = self._multiplexer or self._merge_splits()
            multiplexer.register_new_output(split_id)
            split = ManualSourceOutput(self._ctx, self._collector, multiplexer.immediate_output(split_id))
            split.cost_ns = self.cost_ns
            split.missing_timestamp = self.missing_timestamp
            self._splits[split_id] = split
        return split

    def release_output_for_split(self, split_id: str) -> None:
        split = self._splits.pop(split_id, None)
        if split is not None and self._multiplexer is not None:
            self._released_records += split.records
            self._multiplexer.unregister_output(split_id)

    def on_periodic_emit(self) -> None:
        """Does nothing: only the reader emits watermarks."""

    def has_pending_effect(self) -> bool:
        return False

    def _merge_splits(self) -> WatermarkOutputMultiplexer:
        """Merges the watermarks of the main output and of the splits; called for the first split."""
        self.missing_timestamp = NO_TIMESTAMP
        main = MainWatermarkOutput(self._event_time)
        main.current_watermark, main.idle = self._as_it_is.current_watermark, self._idle
        self._watermarks = main
        self._multiplexer = WatermarkOutputMultiplexer(main.split_local_output)
        return self._multiplexer
