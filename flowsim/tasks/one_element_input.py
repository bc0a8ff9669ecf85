"""A network input of a task with several inputs: one element at a time (rule 4.8)."""

from __future__ import annotations

from collections.abc import Iterator

from flowsim.facts.kinds import ElementKind
from flowsim.facts.tracer import TaskTrace
from flowsim.network.gates.input_channel import InputChannel, Received
from flowsim.network.gates.input_gate import InputGate
from flowsim.operators.stream_operator import DataInputStatus, OperatorInput
from flowsim.streamrecord.codec import RECORD_LENGTH, Element
from flowsim.tasks.network_input import BUFFERS_PER_BATCH, StreamTaskNetworkInput
from flowsim.tasks.task_clock import TaskClock
from flowsim.units import NO_TIMESTAMP
from flowsim.values import fingerprint_decoded


class OneElementInput(StreamTaskNetworkInput):
    """Emits one element or takes one event each time it is asked (rule 7.15). Flink: CanEmitBatchOfRecordsChecker.

    The last element of a buffer frees the buffer before it is processed, as in Flink, so that an input which is not
    selected any more holds none back.
    """

    __slots__ = ("_iterator", "_following", "_buffers")

    _iterator: Iterator[Element]
    _following: Element | None

    def __init__(
        self,
        gate: InputGate,
        channels: int,
        operator: OperatorInput,
        clock: TaskClock,
        trace: TaskTrace | None,
        valve_faults: frozenset[str],
        input_index: int,
    ) -> None:
        super().__init__(gate, channels, operator, clock, trace, valve_faults, input_index)
        self._buffers = 0

    def emit_next(self) -> DataInputStatus:
        """Rule 7.15, where no batch may be emitted."""
        while True:
            channel = self._channel
            if channel is not None:
                element = self._take()
                if element is not None:
                    self._emit(channel, element)
                    return DataInputStatus.MORE_AVAILABLE
                self._end_buffer()
            found = self.gate.poll()
            if found is None:
                return DataInputStatus.END_OF_INPUT if self.gate.finished else DataInputStatus.NOTHING_AVAILABLE
            channel, received = found.channel, found.received
            if received.event is not None:
                return self._process_event(channel, received.event)
            self._begin_buffer(channel, received)

    def _begin_buffer(self, channel: InputChannel, received: Received) -> None:
        super()._begin_buffer(channel, received)
        self._iterator = iter(self._elements)
        self._following = next(self._iterator, None) if self.channel_fault is None else None
        self._buffers += 1
        if self._buffers % BUFFERS_PER_BATCH == 0:
            self._clock.interrupt()  # a task gives way even if its work costs nothing

    def _take(self) -> Element | None:
        """The next element of the buffer being read; the last one ends the buffer."""
        if self.channel_fault is not None:
            # A fault strikes when its element is taken, so nothing is read ahead.
            return next(self._iterator, None)
        element = self._following
        if element is not None:
            self._following = next(self._iterator, None)
            if self._following is None:
                self._end_buffer()
        return element

    def _emit(self, channel: InputChannel, element: Element) -> None:
        trace, is_record = self._trace, len(element) == RECORD_LENGTH
        if trace is not None:
            position = channel.position
            channel.position = position + 1
            if is_record:
                self._trace_record(channel, position, element)
            else:
                self._trace_special(trace, channel, position, element)
        if is_record:
            self.records_in += 1
            self._operator.process_element(element[1], element[0])  # type: ignore[arg-type]  # (timestamp or None, value)
        else:
            self._process_special(element, channel)

    def _trace_record(self, channel: InputChannel, position: int, element: Element) -> None:
        trace = self._trace
        if trace is None:
            return
        timestamp: int | None = element[0]  # type: ignore[assignment]  # a record: (timestamp or None, value)
        value = element[1]
        number = fingerprint_decoded(timestamp, value)
        trace.seen_value, trace.seen_fingerprint = value, number
        at = NO_TIMESTAMP if timestamp is None else timestamp
        trace.received(channel.channel_id, position, ElementKind.RECORD, at, number, self._output.watermarks)
