"""From buffers to elements. Flink: StreamTaskNetworkInput, StreamOneInputProcessor (rules 7.12-7.21)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from flowsim.facts.kinds import ElementKind
from flowsim.facts.tracer import TaskTrace
from flowsim.network.gates.checkpointed_input_gate import CheckpointedInputGate
from flowsim.network.gates.input_channel import InputChannel, Received
from flowsim.network.gates.input_gate import EndOfDataStatus, InputGate
from flowsim.operators.stream_operator import DataInputStatus, OperatorInput, Value
from flowsim.streamrecord.codec import LATENCY_MARKER_LENGTH, WATERMARK_LENGTH, Element, ElementDecoder, latency_marker
from flowsim.streamrecord.elements import WatermarkStatus
from flowsim.streamrecord.events import EndOfData, Event
from flowsim.tasks.finished_data_output import FinishedDataOutput
from flowsim.tasks.operator_chain import OperatorChain
from flowsim.tasks.task_clock import TaskClock
from flowsim.units import NO_TIMESTAMP
from flowsim.values import fingerprint_decoded
from flowsim.watermark.status_watermark_valve import StatusWatermarkValve

BUFFERS_PER_BATCH = 16
"""A task gives way after so many buffers even if its work costs nothing."""

_RECORD = ElementKind.RECORD

ChannelFault = Callable[[InputChannel, Iterable[Element]], Iterable[Element]]
"""A fault between the bytes of a channel and what is decoded from them."""


class HeadOutput:
    """What the valve of a task input feeds: that input of the head operator. Counts the watermarks it passed on.

    Flink: StreamTaskNetworkOutput.
    """

    __slots__ = ("_operator", "_trace", "_input_index", "watermarks", "current_watermark")

    def __init__(self, operator: OperatorInput, input_index: int, trace: TaskTrace | None) -> None:
        self._operator = operator
        self._input_index = input_index
        self._trace = trace
        self.watermarks = 0
        self.current_watermark = NO_TIMESTAMP

    def finish(self) -> None:
        """The data has ended: what the valve still says does not reach the operator (rule 4.11)."""
        self._operator = FinishedDataOutput()

    def emit_watermark(self, timestamp: int) -> None:
        self.watermarks += 1
        self.current_watermark = timestamp
        if self._trace is not None:
            self._trace.task_watermark(self._input_index, ElementKind.WATERMARK, timestamp)
        self._operator.process_watermark(timestamp)

    def emit_watermark_status(self, status: WatermarkStatus) -> None:
        if self._trace is not None:
            self._trace.task_watermark(self._input_index, ElementKind.STATUS, int(status))
        self._operator.process_watermark_status(status)


class StreamTaskNetworkInput:
    """Decodes one task input and feeds that input of the head operator (rules 7.15-7.18). Flink: StreamTaskNetworkInput.

    Invariants: all complete elements of a buffer are emitted before another channel is polled; per-channel order is kept.
    """

    __slots__ = (
        "gate",
        "_operator",
        "_clock",
        "_trace",
        "_valve",
        "_output",
        "_decoder",
        "_channel",
        "_received",
        "_elements",
        "records_in",
        "channel_fault",
    )

    def __init__(
        self,
        gate: InputGate,
        channels: int,
        operator: OperatorInput,
        clock: TaskClock,
        trace: TaskTrace | None,
        valve_faults: frozenset[str] = frozenset(),
        input_index: int = 0,
    ) -> None:
        self.gate = CheckpointedInputGate(gate)
        self._operator = operator
        self._clock = clock
        self._trace = trace
        self._output = HeadOutput(operator, input_index, trace)
        self._valve = StatusWatermarkValve(channels, self._output, valve_faults)
        self._decoder = ElementDecoder()
        self._channel: InputChannel | None = None
        self._received: Received | None = None
        self._elements: Iterable[Element] = ()
        self.records_in = 0
        self.channel_fault: ChannelFault | None = None

    @property
    def is_available(self) -> bool:
        return self._channel is not None or self.gate.is_available

    @property
    def queued_buffers(self) -> int:
        return self.gate.queued_buffers

    @property
    def current_watermark(self) -> int:
        return self._output.current_watermark

    def emit_next(self) -> DataInputStatus:
        """Emits elements until something must be looked after (rule 7.15)."""
        clock = self._clock
        for _ in range(BUFFERS_PER_BATCH):
            if self._channel is not None:
                stopped = self._emit_plain() if self._trace is None else self._emit_traced(self._trace)
                if stopped:
                    return DataInputStatus.MORE_AVAILABLE
                self._end_buffer()
                if clock.now_ns >= clock.batch_end_ns:
                    return DataInputStatus.MORE_AVAILABLE
            found = self.gate.poll()
            if found is None:
                return DataInputStatus.END_OF_INPUT if self.gate.finished else DataInputStatus.NOTHING_AVAILABLE
            channel, received = found.channel, found.received
            if received.event is not None:
                status = self._process_event(channel, received.event)
                if status is not DataInputStatus.MORE_AVAILABLE:
                    return status
                continue
            self._begin_buffer(channel, received)
        clock.interrupt()
        return DataInputStatus.MORE_AVAILABLE

    def _begin_buffer(self, channel: InputChannel, received: Received) -> None:
        payload = channel.tail + received.payload if channel.tail else received.payload
        self._decoder.feed(payload)
        self._channel, self._received = channel, received
        elements: Iterable[Element] = self._decoder
        self._elements = elements if self.channel_fault is None else self.channel_fault(channel, elements)

    def _end_buffer(self) -> None:
        channel, received = self._channel, self._received
        if channel is not None and received is not None:
            channel.tail = self._decoder.take_tail()
            self._channel = self._received = None
            received.recycle()

    def _emit_plain(self) -> bool:
        """Whether it stopped before the buffer was used up."""
        process, clock = self._operator.process_element, self._clock
        records = 0
        for element in self._elements:
            if len(element) == 2:
                records += 1
                process(element[1], element[0])  # type: ignore[arg-type]  # a record: (timestamp or None, value)
            else:
                self._process_special(element, self._channel)
            if clock.now_ns >= clock.batch_end_ns:
                self.records_in += records
                return True
        self.records_in += records
        return False

    def _emit_traced(self, trace: TaskTrace) -> bool:
        process, clock, channel = self._operator.process_element, self._clock, self._channel
        if channel is None:
            return False
        channel_id, output, received = channel.channel_id, self._output, trace.received
        for element in self._elements:
            position = channel.position
            channel.position = position + 1
            if len(element) == 2:
                self.records_in += 1
                timestamp: int | None = element[0]  # type: ignore[assignment]  # a record: (timestamp or None, value)
                value = element[1]
                number = fingerprint_decoded(timestamp, value)
                trace.seen_value, trace.seen_fingerprint = value, number
                at = NO_TIMESTAMP if timestamp is None else timestamp
                received(channel_id, position, _RECORD, at, number, output.watermarks)
                process(value, timestamp)
            else:
                self._trace_special(trace, channel, position, element)
                self._process_special(element, channel)
            if clock.now_ns >= clock.batch_end_ns:
                return True
        return False

    def _process_special(self, element: Element, channel: InputChannel | None) -> None:
        """Rule 7.17."""
        if channel is None:
            return
        size = len(element)
        if size == WATERMARK_LENGTH:
            self._valve.input_watermark(_integer(element[0]), channel.index)
        elif size == LATENCY_MARKER_LENGTH:
            self._operator.process_latency_marker(latency_marker(element))
        else:
            self._valve.input_watermark_status(WatermarkStatus(_integer(element[1])), channel.index)

    def _trace_special(self, trace: TaskTrace, channel: InputChannel, position: int, element: Element) -> None:
        size = len(element)
        if size == WATERMARK_LENGTH:
            kind, timestamp = ElementKind.WATERMARK, _integer(element[0])
        elif size == LATENCY_MARKER_LENGTH:
            kind, timestamp = ElementKind.LATENCY_MARKER, _integer(element[1])
        else:
            kind, timestamp = ElementKind.STATUS, _integer(element[1])
        trace.received(channel.channel_id, position, kind, timestamp, 0, self._output.watermarks)

    def _process_event(self, channel: InputChannel, event: Event) -> DataInputStatus:
        """Rule 7.18."""
        is_end_of_data = isinstance(event, EndOfData)
        if self._trace is not None:
            kind = ElementKind.END_OF_DATA if is_end_of_data else ElementKind.END_OF_PARTITION
            mode = int(event.mode) if isinstance(event, EndOfData) else 0
            position = channel.position
            channel.position = position + 1
            self._trace.received(channel.channel_id, position, kind, mode, 0, self._output.watermarks)
        if is_end_of_data:
            status = self.gate.end_of_data_status()
            if status is EndOfDataStatus.DRAINED:
                self._operator = FinishedDataOutput()
                self._output.finish()
                return DataInputStatus.END_OF_DATA
            if status is EndOfDataStatus.STOPPED:
                return DataInputStatus.STOPPED
        return DataInputStatus.MORE_AVAILABLE

    def when_available(self, callback: Callable[[], None]) -> None:
        self.gate.when_available(callback)

    def end_of_input_with_drain(self, chain: OperatorChain) -> None:
        """The head's input ends; MAX_WATERMARK came as an element before (rules 4.10, 4.11)."""
        chain.end_input_of_head()

    def close(self) -> None:
        if self._received is not None:
            self._received.recycle()
            self._channel = self._received = None
        self.gate.close()


def _integer(value: Value) -> int:
    if not isinstance(value, int):
        raise TypeError(f"expected an integer in an element of the stream, got {value!r:.40}")
    return value
