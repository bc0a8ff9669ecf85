"""Reads elements from buffers. Flink: StreamTaskNetworkInput, StreamOneInputProcessor (rules 7.12-7.21)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from flowsim.facts.kinds import ElementKind
from flowsim.facts.tracer import TaskTrace
from flowsim.failure_location import OperatorCall, note_record
from flowsim.network.checkpointing.checkpointed_input_gate import CheckpointedInputGate
from flowsim.network.gates.input_channel import InputChannel, Received
from flowsim.network.gates.input_gate import EndOfDataStatus, InputGate
from flowsim.operators.stream_operator import DataInputStatus, OperatorInput, Value
from flowsim.streamrecord.codec import LATENCY_MARKER_LENGTH, WATERMARK_LENGTH, Element, latency_marker
from flowsim.streamrecord.elements import LatencyMarker, WatermarkStatus
from flowsim.streamrecord.events import (
    CancelCheckpointMarker,
    CheckpointBarrier,
    EndOfData,
    EndOfOutputChannelStateEvent,
    EndOfPartitionEvent,
    Event,
    SubtaskConnectionDescriptor,
)
from flowsim.task_clock import TaskClock
from flowsim.tasks.inputs.demultiplexing_record_deserializer import DemultiplexingRecordDeserializer
from flowsim.tasks.inputs.record_deserializer import RecordDeserializer
from flowsim.tasks.operator_chain import OperatorChain
from flowsim.units import NO_TIMESTAMP
from flowsim.values.encoding import encode_record
from flowsim.watermark.status_watermark_valve import StatusWatermarkValve

BUFFERS_PER_BATCH = 16
"""Number of buffers after which a task ends its batch, even if its work costs nothing."""

_RECORD: Final = ElementKind.RECORD
_WITHOUT_POSITION = (ElementKind.UNALIGNED_BARRIER, ElementKind.EVENT)


class CanEmitBatchOfRecordsChecker:
    """Decides whether an input may emit another element in the same action.

    Flink: StreamTask.CanEmitBatchOfRecordsChecker.

    The answer is False while a mail waits or the output is full: both end the batch of ``clock``. In flowsim the batch
    length also ends the batch. With ``emits_batches`` False the answer is always False, so that a task with several
    inputs chooses an input for each element (rule 4.8).
    """

    __slots__ = ("clock", "emits_batches")

    def __init__(self, clock: TaskClock, emits_batches: bool = True) -> None:
        self.clock = clock
        self.emits_batches = emits_batches

    def check(self) -> bool:
        return self.emits_batches and self.clock.now_ns < self.clock.batch_end_ns


class FinishedDataOutput(OperatorInput):
    """Drops all elements that arrive after the end of the data. Flink: FinishedDataOutput (rule 4.11)."""

    __slots__ = ("_input",)

    def __init__(self, input_: StreamTaskNetworkInput) -> None:
        self._input = input_

    def process_element(self, value: Value, timestamp: int | None) -> None:
        """Drops the element, which is then not counted as a record that the task took in."""
        self._input.records_in -= 1

    def process_watermark(self, timestamp: int) -> None:
        """Drops the watermark."""

    def process_watermark_status(self, status: WatermarkStatus) -> None:
        """Drops the status."""

    def process_latency_marker(self, marker: LatencyMarker) -> None:
        """Drops the marker."""


class StreamTaskNetworkOutput:
    """Passes elements to one input of the head operator; the valve emits to this output, too.

    Flink: StreamTaskNetworkOutput.

    ``operator`` is the input of the head operator, which gets records directly; ``name`` is the head's name.
    ``watermarks`` counts the watermarks that were passed on.
    """

    __slots__ = ("operator", "name", "_trace", "_input_index", "watermarks", "current_watermark")

    def __init__(self, operator: OperatorInput, name: str, input_index: int, trace: TaskTrace | None) -> None:
        self.operator = operator
        self.name = name
        self._input_index = input_index
        self._trace = trace
        self.watermarks = 0
        self.current_watermark = NO_TIMESTAMP

    def finish(self, input_: StreamTaskNetworkInput) -> None:
        """Drops all later elements of ``input_``, because the data has ended (rule 4.11)."""
        self.operator = FinishedDataOutput(input_)

    def emit_watermark(self, timestamp: int) -> None:
        self.watermarks += 1
        self.current_watermark = timestamp
        if self._trace is not None:
            self._trace.task_watermark(self._input_index, ElementKind.WATERMARK, timestamp)
        with OperatorCall(self.name):
            self.operator.process_watermark(timestamp)

    def emit_watermark_status(self, status: WatermarkStatus) -> None:
        if self._trace is not None:
            self._trace.task_watermark(self._input_index, ElementKind.STATUS, int(status))
        with OperatorCall(self.name):
            self.operator.process_watermark_status(status)

    def emit_latency_marker(self, marker: LatencyMarker) -> None:
        with OperatorCall(self.name):
            self.operator.process_latency_marker(marker)


class StreamTaskNetworkInput:
    """Decodes one task input and feeds that input of the head operator (rules 7.15-7.18). Flink: StreamTaskNetworkInput.

    ``valve`` emits to ``output``. Invariants: all complete elements of a buffer are emitted before another channel is
    polled; per-channel order is kept; no element or event follows another while ``can_emit_batch`` forbids it.
    """

    __slots__ = (
        "gate",
        "records_in",
        "output",
        "_valve",
        "_deserializer",
        "_can_emit_batch",
        "_clock",
        "_trace",
        "_elements",
        "_last_channel",
        "_buffers",
    )

    def __init__(
        self,
        gate: InputGate,
        output: StreamTaskNetworkOutput,
        valve: StatusWatermarkValve,
        deserializer: RecordDeserializer,
        can_emit_batch: CanEmitBatchOfRecordsChecker,
        trace: TaskTrace | None,
    ) -> None:
        self.gate = CheckpointedInputGate(gate)
        self.records_in = 0
        self.output = output
        self._valve = valve
        self._deserializer: RecordDeserializer | DemultiplexingRecordDeserializer = deserializer
        self._can_emit_batch = can_emit_batch
        self._clock = can_emit_batch.clock
        self._trace = trace
        self._elements: Iterator[Element] | None = None
        """The remaining elements of the current buffer, or None. Flink: currentRecordDeserializer."""
        self._last_channel: InputChannel
        self._buffers = 0
        if trace is not None:
            self.gate.on_priority_event = partial(self._trace_event, trace)

    @property
    def is_available(self) -> bool:
        return self._elements is not None or self.gate.is_available

    @property
    def queued_buffers(self) -> int:
        return self.gate.queued_buffers

    def demultiplex(self, deserializer: DemultiplexingRecordDeserializer) -> None:
        """Decodes restored data of several old channels until all channels are recovered (rule 12.102)."""
        self._deserializer = deserializer

    @property
    def is_demultiplexing(self) -> bool:
        """True from ``demultiplex`` until all channels are recovered."""
        return isinstance(self._deserializer, DemultiplexingRecordDeserializer)

    def _finish_recovery(self) -> None:
        """Flink: RescalingStreamTaskNetworkInput.finishRecovery."""
        if isinstance(self._deserializer, DemultiplexingRecordDeserializer):
            self._deserializer.finish()
            self._deserializer = RecordDeserializer()

    def unconsumed(self, channel: InputChannel) -> bytes:
        """Returns the bytes that were read from a channel, and that no emitted element has (rule 12.83)."""
        return self._deserializer.unconsumed(channel)

    @property
    def current_watermark(self) -> int:
        return self.output.current_watermark

    def emit_next(self) -> DataInputStatus:
        """Emits elements and handles events while ``can_emit_batch`` allows it (rule 7.15)."""
        for _ in range(BUFFERS_PER_BATCH):
            elements = self._elements
            if elements is not None:
                if self._emit(elements):
                    if self._deserializer.is_buffer_consumed:
                        self._elements = None
                    return DataInputStatus.MORE_AVAILABLE
                self._elements = None
                self._deserializer.end_buffer()
            polled = self.gate.poll()
            if polled is None:
                return DataInputStatus.END_OF_INPUT if self.gate.finished else DataInputStatus.NOTHING_AVAILABLE
            event = polled.received.event
            if event is None:
                self._process_buffer(polled.channel, polled.received)
                continue
            status = self._process_event(polled.channel, event)
            if status is not DataInputStatus.MORE_AVAILABLE or not self._can_emit_batch.check():
                return status
        self._clock.interrupt()
        return DataInputStatus.MORE_AVAILABLE

    def _process_buffer(self, channel: InputChannel, received: Received) -> None:
        self._last_channel = channel
        self._deserializer.set_next_buffer(channel, received)
        self._elements = self._deserializer.elements
        if not self._can_emit_batch.emits_batches:
            self._buffers += 1
            if self._buffers % BUFFERS_PER_BATCH == 0:
                self._clock.interrupt()

    def _emit(self, elements: Iterator[Element]) -> bool:
        """Emits elements of the current buffer.

        Returns True if it had to stop, False if all elements were emitted.
        """
        output, clock, trace = self.output, self._clock, self._trace
        operator = output.operator
        emits_batches = self._can_emit_batch.emits_batches
        for element in elements:
            if len(element) == 2:
                timestamp: int | None = element[0]  # type: ignore[assignment]  # a record: (timestamp or None, value)
                value = element[1]
                self.records_in += 1
                if trace is not None:
                    self._record_received(trace, timestamp, value)
                try:
                    operator.process_element(value, timestamp)
                except BaseException as error:
                    note_record(error, output.name, value, timestamp)
                    raise
            else:
                if trace is not None:
                    self._trace_special(trace, self._last_channel, element)
                self._process_special(element)
            # CanEmitBatchOfRecordsChecker.check inlined: a call costs 0.07 us of the 2.7 us per record in W1.
            if not emits_batches or clock.now_ns >= clock.batch_end_ns:
                return True
        return False

    def _record_received(self, trace: TaskTrace, timestamp: int | None, value: Value) -> None:
        channel = self._last_channel
        position = channel.position
        channel.position = position + 1
        number = trace.fingerprint_encoded(encode_record(timestamp, value))
        trace.seen_value, trace.seen_fingerprint = value, number
        at = NO_TIMESTAMP if timestamp is None else timestamp
        trace.received(channel.channel_id, position, _RECORD, at, number, self.output.watermarks)

    def _process_special(self, element: Element) -> None:
        """Processes a watermark, a status or a latency marker (rule 7.17)."""
        size = len(element)
        if size == WATERMARK_LENGTH:
            self._valve.input_watermark(_integer(element[0]), self._last_channel.index)
        elif size == LATENCY_MARKER_LENGTH:
            self.output.emit_latency_marker(latency_marker(element))
        else:
            self._valve.input_watermark_status(WatermarkStatus(_integer(element[1])), self._last_channel.index)

    def _trace_special(self, trace: TaskTrace, channel: InputChannel, element: Element) -> None:
        position = channel.position
        channel.position = position + 1
        size = len(element)
        if size == WATERMARK_LENGTH:
            kind, timestamp = ElementKind.WATERMARK, _integer(element[0])
        elif size == LATENCY_MARKER_LENGTH:
            kind, timestamp = ElementKind.LATENCY_MARKER, _integer(element[1])
        else:
            kind, timestamp = ElementKind.STATUS, _integer(element[1])
        trace.received(channel.channel_id, position, kind, timestamp, 0, self.output.watermarks)

    def _trace_event(self, trace: TaskTrace, channel: InputChannel, event: Event) -> None:
        recorded = _recorded_event(event)
        if recorded is None or (recorded[0] is ElementKind.EVENT and channel.trace is None):
            return
        kind, detail = recorded
        position = channel.position
        channel.position = position + (kind not in _WITHOUT_POSITION)
        trace.received(channel.channel_id, position, kind, detail, 0, self.output.watermarks)

    def _process_event(self, channel: InputChannel, event: Event) -> DataInputStatus:
        """Processes an event (rule 7.18)."""
        if self._trace is not None:
            self._trace_event(self._trace, channel, event)
        if isinstance(event, EndOfOutputChannelStateEvent):
            channel.position = 0
            if self.gate.are_all_channels_recovered:
                self._finish_recovery()
        elif isinstance(event, SubtaskConnectionDescriptor):
            if isinstance(self._deserializer, DemultiplexingRecordDeserializer):
                self._deserializer.select(channel, event)
        elif isinstance(event, EndOfData):
            status = self.gate.end_of_data_status()
            if status is EndOfDataStatus.DRAINED:
                self.output.finish(self)
                return DataInputStatus.END_OF_DATA
            if status is EndOfDataStatus.STOPPED:
                return DataInputStatus.STOPPED
        return DataInputStatus.MORE_AVAILABLE

    def when_available(self, callback: Callable[[], None]) -> None:
        self.gate.when_available(callback)

    @property
    def waits_for(self) -> str:
        return "input"

    def end_of_input_with_drain(self, chain: OperatorChain) -> None:
        """Ends the head's input; MAX_WATERMARK came earlier as an element (rules 4.10, 4.11)."""
        chain.end_input_of_head()

    def close(self) -> None:
        self._elements = None
        self._deserializer.clear()
        self.gate.close()


def _recorded_event(event: Event) -> tuple[ElementKind, int] | None:
    """Returns the kind of an event, and what its fact has instead of a timestamp; None: it is no fact of its own."""
    match event:
        case EndOfData(mode=mode):
            return ElementKind.END_OF_DATA, int(mode)
        case CheckpointBarrier(checkpoint_id=checkpoint_id, options=options):
            may_overtake = options.needs_channel_state
            return ElementKind.UNALIGNED_BARRIER if may_overtake else ElementKind.CHECKPOINT_BARRIER, checkpoint_id
        case CancelCheckpointMarker(checkpoint_id=checkpoint_id):
            return ElementKind.CANCEL_CHECKPOINT_MARKER, checkpoint_id
        case EndOfPartitionEvent():
            return ElementKind.END_OF_PARTITION, 0
        case EndOfOutputChannelStateEvent() | SubtaskConnectionDescriptor():
            return ElementKind.EVENT, 0
        case _:
            return None


def _integer(value: Value) -> int:
    if not isinstance(value, int):
        raise TypeError(f"expected an integer in an element of the stream, got {value!r:.40}")
    return value
