"""The source operator at the head of a pipeline. Flink: SourceOperator."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flowsim.errors import BadInput, InvariantViolation
from flowsim.failure_location import note_operator, note_place
from flowsim.operators.sources.latency_marker_emitter import LatencyMarkerEmitter
from flowsim.operators.sources.manual_source_output import ManualReaderOutput
from flowsim.operators.sources.progressive_timestamps_and_watermarks import StreamingReaderOutput
from flowsim.operators.sources.reader_state import ReaderState
from flowsim.operators.sources.source_alignment import SourceAlignment
from flowsim.operators.sources.source_events import AddSplitEvent, NoMoreSplitsEvent, ReaderRegistrationEvent
from flowsim.operators.sources.source_reader import AssignedReader, SourceReader, SplitReader
from flowsim.operators.stream_operator import DataInputStatus, OperatorContext, StreamOperator, Value
from flowsim.state.snapshots.snapshot_contexts import (
    StateInitializationContext,
    StateSnapshotContext,
)
from flowsim.streamrecord.events import StopMode
from flowsim.streamrecord.operator_event import OperatorEvent
from flowsim.streamrecord.output import Output
from flowsim.units import MAX_WATERMARK
from flowsim.watermark.idleness import PausableRelativeClock
from flowsim.watermark.watermark_strategy import WatermarkStrategy

__all__ = ["SourceOperator", "SourceReader", "SplitReader"]


class SourceOperator(StreamOperator):
    """Runs a reader, and generates watermarks from its records if it has a strategy. Flink: SourceOperator.

    Without a strategy the reader emits watermarks and idleness itself, and a record after an idle time makes the stream
    active, as in Flink's legacy ``SourceContext``.
    """

    is_source = True

    __slots__ = (
        "source_output",
        "alignment",
        "stopping",
        "on_available",
        "_reader",
        "_assigned_reader",
        "_reader_state",
        "strategy",
        "_interval_ms",
        "_latency_ms",
        "_sample_count",
        "_markers",
        "_ended",
        "_is_finished",
        "_when_finished",
        "_is_open",
        "_emits_periodically",
    )

    source_output: ManualReaderOutput | StreamingReaderOutput

    def __init__(
        self,
        reader: SourceReader,
        strategy: WatermarkStrategy | None = None,
        auto_watermark_interval_ms: int = 200,
        latency_interval_ms: int = 0,
        alignment_sample_count: int = 3,
        assigned_reader: AssignedReader | None = None,
    ) -> None:
        """``assigned_reader``: the reader, if the enumerator of the source assigns its splits."""
        self._reader = reader
        self._assigned_reader = assigned_reader
        self._reader_state: ReaderState | None = None
        self.strategy = strategy
        self._interval_ms = auto_watermark_interval_ms
        self._latency_ms = latency_interval_ms
        self._sample_count = alignment_sample_count
        self._markers: LatencyMarkerEmitter | None = None
        self.alignment: SourceAlignment | None = None
        """The alignment of the source; None: not aligned."""
        self.stopping: StopMode | None = None
        """The stop mode, from the stop request until the source has reported its stop; otherwise None."""
        self.on_available: Callable[[], None] = _ignore_wake_up
        """Called when the source is stopped or may read again, to end a wait for the reader."""
        self._ended = False
        self._is_finished = False
        self._when_finished: list[Callable[[], None]] = []
        self._is_open = False
        self._emits_periodically = False

    def setup(self, ctx: OperatorContext, output: Output) -> None:
        super().setup(ctx, output)
        if ctx.is_batch and self.strategy is not None:
            self.strategy = self.strategy.without_watermarks()
        strategy = self.strategy
        if strategy is None:
            self.source_output = ManualReaderOutput(ctx, output)
            return
        if strategy.alignment is not None:
            self.alignment = SourceAlignment(
                strategy.alignment,
                self._sample_count,
                self._wait,
                self._go_on,
                self._pause_or_resume_splits,
                self._index_of_split,
                ctx.trace,
                ctx.operator_index,
            )
        self.source_output = StreamingReaderOutput(ctx, output, strategy, self.alignment, self._on_first_split)

    @property
    def input_activity_clock(self) -> PausableRelativeClock | None:
        output = self.source_output
        return output.back_pressure_clock if isinstance(output, StreamingReaderOutput) else None

    def set_cost_ns(self, cost_ns: int) -> None:
        """Sets the cost of a record, which the outputs add for each record."""
        super().set_cost_ns(cost_ns)
        self.source_output.set_cost_ns(cost_ns)

    @property
    def hands_over_records(self) -> bool:
        """True if only the next operator uses the emitted records, so that they need no copy (rule 5.10)."""
        return self._reader.hands_over

    @property
    def wake_time_ns(self) -> int | None:
        """The time of the next poll after NOTHING_AVAILABLE, in ns; None: only after ``on_available``."""
        if self.alignment is not None and self.alignment.is_waiting:
            return None
        return self._reader.wake_time_ns

    @property
    def has_read_all(self) -> bool:
        """True if the reader waits for records that will never come, as that of a topic without further records."""
        return bool(getattr(self._reader, "has_read_all", False))

    def initialize_state(self, context: StateInitializationContext) -> None:
        """Adds the restored splits to the reader, before it is registered (rule 12.111)."""
        self._reader_state = ReaderState(self._reader, context, self.ctx)

    def snapshot_state(self, context: StateSnapshotContext) -> None:
        """Stores the splits of the reader, in its order (rule 12.111)."""
        if self._reader_state is not None:
            self._reader_state.snapshot(context.checkpoint_id)

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """Lets the reader commit what it has read, if it does. Flink: SourceReader.notifyCheckpointComplete."""
        notify = getattr(self._reader, "notify_checkpoint_complete", None)
        if notify is not None:
            notify(checkpoint_id)

    def handle_operator_event(self, event: OperatorEvent) -> None:
        reader = self._assigned_reader
        match event:
            case AddSplitEvent(splits=splits) if reader is not None:
                if self._reader_state is not None:
                    self._reader_state.on_added(splits)
                reader.add_splits(splits)
            case NoMoreSplitsEvent() if reader is not None:
                reader.notify_no_more_splits()
            case _:
                super().handle_operator_event(event)
        self.on_available()

    def _register_reader(self) -> None:
        send = self.ctx.send_to_coordinator
        if send is None:
            raise InvariantViolation(f"{self.ctx.operator_name}: its splits are assigned, but there is no coordinator")
        send(ReaderRegistrationEvent())

    def open(self) -> None:
        if self._assigned_reader is not None:
            self._register_reader()
        self._reader.open(self.ctx)
        self._is_open = True
        if self.strategy is not None and (self.strategy.periodic or self.alignment is not None):
            self._emit_periodically()

    def poll_next(self) -> DataInputStatus:
        """Lets the reader emit one batch; after END_OF_DATA or STOPPED returns END_OF_INPUT (rule 4.14)."""
        if self._ended:
            if self.alignment is not None:
                self.alignment.finished()
            return DataInputStatus.END_OF_INPUT
        if self.stopping is not None:
            return self._stopped(self.stopping)
        if self._latency_ms and self._markers is None:
            self._markers = LatencyMarkerEmitter(self.ctx, self.output, self._latency_ms)
        if self.alignment is not None and self._must_wait(self.alignment):
            return DataInputStatus.NOTHING_AVAILABLE
        try:
            status = self._reader.poll_next(self.source_output)
        except BaseException as error:
            note_operator(error, self.ctx.operator_name)
            note_place(error, self.place_of_record)
            raise
        finally:
            output = self.source_output
            self.records_in = output.total_records
            if isinstance(output, StreamingReaderOutput):
                self.records_dropped = output.missing.records
        if status is DataInputStatus.END_OF_DATA or status is DataInputStatus.STOPPED:
            self._end()
        return status

    def place_of_record(self) -> str | None:
        """Where the reader found the record that it emitted last, such as ``in.csv:7``; None if it does not know."""
        place_of = getattr(self._reader, "place_of_record", None)
        return None if place_of is None else place_of(self.source_output)

    def stop(self, mode: StopMode) -> bool:
        """Stops the reader; returns False if the source has already ended or stopped (rule 4.20)."""
        if self._ended or self.stopping is not None:
            return False
        self.stopping = mode
        if self.alignment is not None:
            self.alignment.stopped_reading()
        if mode is StopMode.NO_DRAIN:
            self._close_markers()
        self.on_available()
        return True

    def _stopped(self, mode: StopMode) -> DataInputStatus:
        """Reports the stop as the end of the data; END_OF_INPUT follows with the next call (rule 7.28)."""
        self.stopping = None
        self._end()
        return DataInputStatus.END_OF_DATA if mode is StopMode.DRAIN else DataInputStatus.STOPPED

    def _end(self) -> None:
        self._ended = True
        if self.alignment is not None:
            self.alignment.stopped_reading()

    def finish(self) -> None:
        """Emits nothing: the task has already emitted the last watermark (rule 4.9)."""
        self._close_markers()
        self._is_finished = True
        callbacks, self._when_finished = self._when_finished, []
        for callback in callbacks:
            callback()

    def when_finished(self, callback: Callable[[], None]) -> None:
        """Calls back after ``finish``; at once if that was before (rule 4.20)."""
        if self._is_finished:
            callback()
        else:
            self._when_finished.append(callback)

    def _close_markers(self) -> None:
        if self._markers is not None:
            self._markers.close()

    def advance_to_end_of_event_time(self) -> None:
        """Emits the last watermark of a task that drains (rule 4.10); an idle output drops it (rule 5.8)."""
        self.output.emit_watermark(MAX_WATERMARK)

    def process_element(self, value: Value, timestamp: int | None) -> None:
        raise TypeError(f"{self.ctx.operator_name} is a source: it takes no records")

    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            self._reader.close()

    # Periodic watermarks.

    def _emit_periodically(self) -> None:
        if self._interval_ms > 0 and not self._emits_periodically:
            self._emits_periodically = True
            self.ctx.processing_time.schedule_with_fixed_delay(
                self._interval_ms, self._on_periodic_emit, daemon_while_not=self.source_output.has_pending_effect
            )

    def _on_first_split(self) -> None:
        """Starts periodic emission: under any strategy, the end of a split may change the combined watermark."""
        self._emit_periodically()

    def _on_periodic_emit(self, timestamp: int) -> None:
        self.source_output.on_periodic_emit()

    # Watermark alignment (section 8.E).

    def _must_wait(self, alignment: SourceAlignment) -> bool:
        """True if the source must wait for alignment. The first call starts the reports: nothing was read before."""
        if not alignment.reading:
            alignment.reading = True
            self.ctx.processing_time.schedule_with_fixed_delay(
                alignment.params.update_interval_ms,
                self._on_update_interval,
                daemon_while_not=alignment.has_pending_effect,
            )
        return alignment.is_waiting

    def _on_update_interval(self, timestamp: int) -> None:
        if self.alignment is not None:
            self.alignment.sample_and_report()

    def announce_limit(self, limit: int) -> None:
        """Handles the coordinator's event, as a mail of the task (rule 8.22). Flink: WatermarkAlignmentEvent."""
        if self.alignment is not None:
            self.alignment.announce(limit)

    def _wait(self) -> None:
        """Stops reading after the current record and pauses the idleness clock (rule 8.23)."""
        self.ctx.clock.batch_end_ns = 0
        self._activity_clock().pause()

    def _go_on(self) -> None:
        self._activity_clock().un_pause()
        self.on_available()

    def _activity_clock(self) -> PausableRelativeClock:
        return self._streaming_output().input_activity_clock

    def _pause_or_resume_splits(self, splits_to_pause: Sequence[str], splits_to_resume: Sequence[str]) -> None:
        pause_or_resume = getattr(self._reader, "pause_or_resume_splits", None)
        if pause_or_resume is None:
            raise BadInput(
                f"{self.ctx.operator_name}: watermark alignment needs a reader that can pause its splits "
                "(pause_or_resume_splits), this source's cannot: read one split per subtask, or do not align it"
            )
        pause_or_resume(splits_to_pause, splits_to_resume)
        self._streaming_output().pause_or_resume_splits(splits_to_pause, splits_to_resume)
        self.ctx.clock.batch_end_ns = 0
        if splits_to_resume:
            self.on_available()

    def _index_of_split(self, split_id: str) -> int:
        return self._streaming_output().splits.index_of[split_id]

    def _streaming_output(self) -> StreamingReaderOutput:
        if not isinstance(self.source_output, StreamingReaderOutput):
            raise TypeError(f"{self.ctx.operator_name} has no watermark strategy")
        return self.source_output


def _ignore_wake_up() -> None:
    """Does nothing: a stop while the source runs takes effect at the next poll."""
