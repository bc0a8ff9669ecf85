"""Writes elements as bytes to a result partition. Flink: RecordWriter and its subclasses, RecordWriterOutput (section
5.A).
"""

from __future__ import annotations

from random import Random
from typing import Final, Protocol

from mypy_extensions import mypyc_attr

from flowsim.facts.kinds import ElementKind
from flowsim.facts.tracer import TaskTrace
from flowsim.network.partitions.result_partition import ResultPartition
from flowsim.network.writers.observed_partitioner import ObservedPartitioner, observed_partitioner
from flowsim.network.writers.partitioner import StreamPartitioner
from flowsim.streamrecord.codec import encode_latency_marker_into, encode_status_into, encode_watermark
from flowsim.streamrecord.elements import LatencyMarker, WatermarkStatus
from flowsim.streamrecord.events import CancelCheckpointMarker, CheckpointBarrier, Event, StopMode
from flowsim.streamrecord.output import CountingOutput
from flowsim.units import NO_TIMESTAMP
from flowsim.values.encoding import encode_into, encode_record

# Stored, because an enum member lookup costs more than packing a fact.
_RECORD: Final = ElementKind.RECORD
_WATERMARK: Final = ElementKind.WATERMARK
_IDLE: Final = WatermarkStatus.IDLE


class Flusher(Protocol):
    """Periodically makes the data of a writer readable; ``OutputFlusher`` implements it."""

    def on_data(self) -> None:
        """Called when data was written that only a flush makes readable."""


class NoFlusher:
    """The flusher of a writer that flushes after every element, or never."""

    __slots__ = ()

    def on_data(self) -> None:
        """Does nothing: no flush is needed."""


NO_FLUSHER: Final = NoFlusher()

Value = object


@mypyc_attr(allow_interpreted_subclasses=True)
class RecordWriter(CountingOutput):
    """Writes one non-chained output of a task (rules 5.3-5.8). Flink: ChannelSelectorRecordWriter, BroadcastRecordWriter.

    ``first_channel``: channel id of subpartition 0, the others follow. ``timeout_ms``: 0 flushes after every element,
    -1 never, else ``flusher`` calls ``flush_all``.
    """

    __slots__ = (
        "partition",
        "partitioner",
        "timeout_ms",
        "first_channel",
        "trace",
        "_is_broadcast",
        "_route",
        "_unicast",
        "_positions",
        "_random",
        "_status",
        "_flusher",
        "supports_unaligned_checkpoints",
    )

    def __init__(
        self,
        partition: ResultPartition,
        partitioner: StreamPartitioner,
        timeout_ms: int,
        first_channel: int,
        random: Random,
        trace: TaskTrace | None,
        flusher: Flusher,
    ) -> None:
        super().__init__()
        self.partition = partition
        self.partitioner = partitioner
        self.timeout_ms = timeout_ms
        self.first_channel = first_channel
        self.trace = trace
        self._random = random
        self.supports_unaligned_checkpoints = True
        """False: barriers stay in order, because stored data of this exchange could not be rescaled (rule 12.19)."""
        self._positions = [0] * partition.count if trace is not None else []
        self._status = WatermarkStatus.ACTIVE
        self._flusher = flusher
        """The flusher, which is notified of data that may need a flush and runs only then."""
        self._route: ObservedPartitioner | None = None
        """Chooses the channel in place of the partitioner, and keeps the facts of the key, while facts are recorded."""
        if trace is not None and not partitioner.is_broadcast:
            self._route = observed_partitioner(partitioner, trace)
        self._unicast = partition.unicast
        self._is_broadcast = partitioner.is_broadcast

    def collect(self, value: Value, timestamp: int | None) -> None:
        """Writes a record to the channel that the partitioner chooses, or to all channels of a broadcast."""
        if self._is_broadcast:
            self._broadcast_record(value, timestamp)
            return
        route = self._route
        index = self.partitioner.select_channel(value) if route is None else route.select_channel(value)
        builder = self._unicast[index]
        if builder is None:
            builder = self.partition.request_unicast(index)
            self._flusher.on_data()
        data = builder.data
        if route is None:
            encode_into(data, timestamp, value)
        else:
            frame = encode_record(timestamp, value)
            data += frame
            self._record_sent(index, timestamp, frame, route)
        self.records_out += 1
        builder.committed = size = len(data)
        if size >= builder.capacity:
            self.partition.on_unicast_full(index, builder)
            self._flusher.on_data()  # the flusher's interval may have ended while it waited for a buffer
        if self.timeout_ms == 0:
            self.partition.flush(index)

    def emit_watermark(self, timestamp: int) -> None:
        """Emits a watermark to every subpartition, unless the announced status is IDLE (rules 5.8, 8.18)."""
        if self._status is not _IDLE:
            self._broadcast_emit(encode_watermark(timestamp), _WATERMARK, timestamp)

    def emit_watermark_status(self, status: WatermarkStatus) -> None:
        """Emits a status if it differs from the last one (rule 5.8)."""
        if status is self._status:
            return
        self._status = status
        frame = bytearray()
        encode_status_into(frame, status)
        self._broadcast_emit(bytes(frame), ElementKind.STATUS, int(status))

    def emit_latency_marker(self, marker: LatencyMarker) -> None:
        """Emits a marker to one random subpartition (rules 2.1, 5.6)."""
        index = self._random.randrange(self.partition.count)
        frame = bytearray()
        encode_latency_marker_into(frame, marker)
        self._trace_sent(index, ElementKind.LATENCY_MARKER, marker.marked_time_ms)
        self.partition.emit(bytes(frame), index)
        self._after_emit(index)

    def broadcast_event(self, event: Event, has_priority: bool | None = None) -> None:
        """Emits an event to every subpartition, after all data, or before the data with priority (rules 5.7, 5.28).

        A barrier that needs channel state is changed for an exchange that does not support it (rule 12.19).
        """
        if isinstance(event, CheckpointBarrier) and not self.supports_unaligned_checkpoints:
            event, has_priority = event.with_unaligned_unsupported(), False
        match event:
            case CheckpointBarrier(checkpoint_id=checkpoint_id):
                may_overtake = event.options.needs_channel_state
                kind = ElementKind.UNALIGNED_BARRIER if may_overtake else ElementKind.CHECKPOINT_BARRIER
                self._trace_sent_to_all(kind, checkpoint_id)
            case CancelCheckpointMarker(checkpoint_id=checkpoint_id):
                self._trace_sent_to_all(ElementKind.CANCEL_CHECKPOINT_MARKER, checkpoint_id)
            case _:
                pass
        self.partition.broadcast_event(event, has_priority)
        if self.timeout_ms == 0:
            self.partition.flush_all()

    def notify_end_of_data(self, mode: StopMode) -> None:
        """Passes the end of data directly to the partition; does not flush, whatever the buffer timeout (rule 4.9)."""
        self._trace_sent_to_all(ElementKind.END_OF_DATA, int(mode))
        self.partition.notify_end_of_data(mode)

    def finish(self) -> None:
        """Emits EndOfPartition to every subpartition (rule 4.18)."""
        self._trace_sent_to_all(ElementKind.END_OF_PARTITION, 0)
        self.partition.finish()

    def recover(self, subpartition: int, content: bytes | Event) -> None:
        """Queues a stored buffer, or an event between stored buffers, before all new data (rule 12.92)."""
        if isinstance(content, bytes):
            self.partition.recover(subpartition, content)
        else:
            self.partition.subpartition(subpartition).add_event(content)

    def flush_all(self) -> None:
        self.partition.flush_all()

    @property
    def available(self) -> bool:
        return self.partition.pool.available

    def _broadcast_emit(self, frame: bytes, kind: ElementKind, timestamp: int) -> None:
        """Emits to every subpartition: a broadcast writer shares one buffer, another writer appends copies (rule 5.5).

        Each copy is recorded before it is written: the write may block, and the earlier copies may be received
        meanwhile.
        """
        partition = self.partition
        if self.partitioner.is_broadcast:
            for index in range(partition.count):
                self._trace_sent(index, kind, timestamp)
            partition.broadcast(frame)
        else:
            for index in range(partition.count):
                self._trace_sent(index, kind, timestamp)
                partition.emit(frame, index)
                if self.timeout_ms == 0:
                    partition.flush(index)
        if self.timeout_ms == 0:
            partition.flush_all()
        else:
            self._flusher.on_data()

    def _after_emit(self, index: int) -> None:
        if self.timeout_ms == 0:
            self.partition.flush(index)
        else:
            self._flusher.on_data()

    def _trace_sent_to_all(self, kind: ElementKind, timestamp: int) -> None:
        for index in range(self.partition.count):
            self._trace_sent(index, kind, timestamp)

    def _trace_sent(self, index: int, kind: ElementKind, timestamp: int) -> None:
        if self.trace is not None:
            position = self._positions[index]
            self._positions[index] = position + (kind is not ElementKind.UNALIGNED_BARRIER)
            self.trace.sent(self.first_channel + index, position, kind, timestamp, 0, 0, 0)

    def _record_sent(self, index: int, timestamp: int | None, frame: bytes, route: ObservedPartitioner) -> None:
        trace = self.trace
        if trace is None:
            return
        position = self._positions[index]
        self._positions[index] = position + 1
        number = trace.fingerprint_encoded(frame)
        at = NO_TIMESTAMP if timestamp is None else timestamp
        trace.sent(self.first_channel + index, position, _RECORD, at, number, route.key_hash, route.key)

    def _broadcast_record(self, value: Value, timestamp: int | None) -> None:
        partition, trace = self.partition, self.trace
        frame = encode_record(timestamp, value)
        self.records_out += 1
        if trace is not None:
            number = trace.fingerprint_encoded(frame)
            at = NO_TIMESTAMP if timestamp is None else timestamp
            for index in range(partition.count):
                position = self._positions[index]
                self._positions[index] = position + 1
                trace.sent(self.first_channel + index, position, _RECORD, at, number, 0, 0)
        partition.broadcast(frame)
        if self.timeout_ms == 0:
            partition.flush_all()
        else:
            self._flusher.on_data()
