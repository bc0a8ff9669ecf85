"""The operator at the head of a pipeline, and the contract of what it reads from. Flink: SourceOperator, SourceReader."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from flowsim.operators.data_input_status import DataInputStatus
from flowsim.operators.latency_marker_emitter import LatencyMarkerEmitter
from flowsim.operators.source_output import SourceOutput, SourceOutputWithWatermarks
from flowsim.operators.stream_operator import OperatorContext, Output, StreamOperator, Value
from flowsim.streamrecord.events import StopMode
from flowsim.units import MAX_WATERMARK
from flowsim.watermark.pausable_relative_clock import PausableRelativeClock
from flowsim.watermark.watermark_strategy import WatermarkStrategy


class SourceReader(Protocol):
    """Reads the records of one source subtask; a connector implements it. Flink: SourceReader.

    ``poll_next`` emits records in a loop while ``ctx.clock.now_ns < ctx.clock.batch_end_ns`` and then answers
    MORE_AVAILABLE; the output charges the cost of each record, so the reader only has to look. It answers
    NOTHING_AVAILABLE when it has to wait, and then ``wake_time_ns`` says until when; END_OF_DATA or STOPPED exactly once.
    """

    hands_over: bool
    """Whether it keeps no hold of a record it emitted; then nobody could tell a copy from the record."""

    @property
    def wake_time_ns(self) -> int | None:
        """After NOTHING_AVAILABLE: the clock's time at which to poll again, None when only a wake-up can tell."""

    def open(self, ctx: OperatorContext) -> None:
        """Called before the first poll; ``ctx.subtask_index`` says which share to read."""

    def poll_next(self, output: SourceOutput) -> DataInputStatus: ...

    def close(self) -> None:
        """Called exactly once after a successful ``open``, also after a failure."""


class SourceOperator(StreamOperator):
    """Runs a reader, and makes watermarks from its records when it has a strategy. Flink: SourceOperator.

    Without a strategy the reader speaks for itself: it emits watermarks and idleness, and a record after an idle time makes
    the stream active, as with Flink's legacy ``SourceContext``.
    """

    __slots__ = (
        "source_output", "stopping", "on_stop", "_reader", "_strategy", "_interval_ms", "_latency_ms", "_markers",
        "_ended", "_is_open",
    )  # fmt: skip

    source_output: SourceOutput

    def __init__(
        self,
        reader: SourceReader,
        strategy: WatermarkStrategy | None = None,
        auto_watermark_interval_ms: int = 200,
        latency_interval_ms: int = 0,
    ) -> None:
        self._reader = reader
        self._strategy = strategy
        self._interval_ms = auto_watermark_interval_ms
        self._latency_ms = latency_interval_ms
        self._markers: LatencyMarkerEmitter | None = None
        self.stopping: StopMode | None = None
        """How the source was told to stop and has not said yet that it did."""
        self.on_stop: Callable[[], None] = _nobody_waits
        """Called when it is told to stop: whoever waits for the reader need not any more."""
        self._ended = False
        self._is_open = False

    def setup(self, ctx: OperatorContext, output: Output) -> None:
        super().setup(ctx, output)
        if self._strategy is None:
            self.source_output = SourceOutput(ctx, output)
        else:
            self.source_output = SourceOutputWithWatermarks(ctx, output, self._strategy)

    @property
    def input_activity_clock(self) -> PausableRelativeClock | None:
        output = self.source_output
        return output.input_activity_clock if isinstance(output, SourceOutputWithWatermarks) else None

    def set_cost_ns(self, cost_ns: int) -> None:
        """The output charges the cost, record by record."""
        super().set_cost_ns(cost_ns)
        self.source_output.cost_ns = cost_ns

    @property
    def hands_over_records(self) -> bool:
        """Whether what is emitted belongs to the next operator alone, so that it need not be copied (rule 5.10)."""
        return self._reader.hands_over

    @property
    def wake_time_ns(self) -> int | None:
        """When to poll again after NOTHING_AVAILABLE; None when only a wake-up can tell."""
        return self._reader.wake_time_ns

    def open(self) -> None:
        self._reader.open(self.ctx)
        self._is_open = True
        if self._interval_ms > 0 and self._strategy is not None and self._strategy.periodic:
            self.ctx.processing_time.schedule_with_fixed_delay(
                self._interval_ms, self._on_periodic_emit, daemon_while_not=self.source_output.has_pending_effect
            )

    def poll_next(self) -> DataInputStatus:
        """Lets the reader emit one batch; after END_OF_DATA or STOPPED it answers END_OF_INPUT (rule 4.14)."""
        if self._ended:
            return DataInputStatus.END_OF_INPUT
        if self.stopping is not None:
            return self._stopped(self.stopping)
        if self._latency_ms and self._markers is None:
            self._markers = LatencyMarkerEmitter(self.ctx, self.output, self._latency_ms)
        try:
            status = self._reader.poll_next(self.source_output)
        finally:
            self.records_in = self.source_output.records
        if status is DataInputStatus.END_OF_DATA or status is DataInputStatus.STOPPED:
            self._ended = True
        return status

    def stop(self, mode: StopMode) -> bool:
        """The reader is not asked any more; whether that is news: a source that has ended cannot be stopped (rule 4.20)."""
        if self._ended or self.stopping is not None:
            return False
        self.stopping = mode
        if mode is StopMode.NO_DRAIN:
            self._close_markers()
        self.on_stop()
        return True

    def _stopped(self, mode: StopMode) -> DataInputStatus:
        """Rule 7.28: the stop shows as the end of the data; END_OF_INPUT follows with the next call."""
        self.stopping = None
        self._ended = True
        return DataInputStatus.END_OF_DATA if mode is StopMode.DRAIN else DataInputStatus.STOPPED

    def finish(self) -> None:
        """Nothing is left to emit but the last watermark, which the task asks for before this (rule 4.9)."""
        self._close_markers()

    def _close_markers(self) -> None:
        if self._markers is not None:
            self._markers.close()

    def advance_to_end_of_event_time(self) -> None:
        """The task's last watermark when it drains (rule 4.10); an output that is idle drops it (rule 5.8)."""
        self.output.emit_watermark(MAX_WATERMARK)

    def process_element(self, value: Value, timestamp: int | None) -> None:
        raise TypeError(f"{self.ctx.operator_name} is a source: it takes no records")

    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            self._reader.close()

    def _on_periodic_emit(self, timestamp: int) -> None:
        self.source_output.on_periodic_emit()


def _nobody_waits() -> None:
    """A stop that comes while the source runs shows with its next poll."""
