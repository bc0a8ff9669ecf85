"""A channel inside one task manager. Flink: LocalInputChannel (rule 6.17)."""

from __future__ import annotations

from flowsim.facts.kinds import BufferSide
from flowsim.facts.tracer import TaskTrace
from flowsim.network.buffers.data_type import DataType, buffer_kind
from flowsim.network.errors import IllegalState
from flowsim.network.gates.input_channel import BufferAndAvailability, ChannelGate, InputChannel
from flowsim.network.outbox import Outbox
from flowsim.network.partitions.result_subpartition import UNCONNECTED, ResultSubpartition, SubpartitionView
from flowsim.streamrecord.events import CheckpointBarrier


class LocalInputChannel(InputChannel):
    """Reads the producer's subpartition directly: no credits, no copies (rule 6.17). Flink: LocalInputChannel.

    While the ``producer``'s outbox is sealed, the producer's running batch is not published yet (D4). Then nothing can
    be read, and the gate is notified at the end of the batch. Messages to the producer wait for the end of the
    ``consumer``'s batch.
    """

    __slots__ = ("view", "_producer", "_consumer", "_has_priority_event")

    def __init__(
        self,
        gate: ChannelGate,
        index: int,
        channel_id: int,
        producer: Outbox,
        consumer: Outbox,
        trace: TaskTrace | None,
    ) -> None:
        super().__init__(gate, index, channel_id, trace)
        self.view: SubpartitionView = UNCONNECTED
        """The view of the subpartition; set once the channel has requested a subpartition."""
        self._producer = producer
        self._consumer = consumer
        self._has_priority_event = False
        """True while the gate knows of a priority event that it has not read."""

    def request_subpartition(self, subpartition: ResultSubpartition) -> None:
        """Makes this channel the listener and reader of ``subpartition``. Flink: requestSubpartitions."""
        self.view = subpartition.create_read_view(self)

    @property
    def queued_buffers(self) -> int:
        return 0 if self.released else self.view.queued_buffers

    # Calls from the subpartition.

    def notify_data_available(self) -> None:
        """Called when the subpartition has data to read (rules 5.21, 5.22)."""
        if self._producer.sealed:
            self._producer.hold_local_channel(self)
        elif not self.released:
            self.gate.notify_channel_non_empty(self)

    def notify_priority_event(self, sequence_number: int) -> None:
        """Called when a priority event was added to the subpartition (rule 5.28)."""
        if self._producer.sealed:
            self._producer.hold_priority_event(PriorityEvent(self, sequence_number))
        elif not self.released:
            self._has_priority_event = True
            self.gate.notify_priority_event(self, sequence_number)

    def publish(self) -> None:
        """Called when the producer's batch has ended."""
        self.notify_data_available()

    # Calls from the task.

    def checkpoint_started(self, barrier: CheckpointBarrier) -> None:
        """Stores what is read until the barrier; data in the subpartition belongs to its own state (rule 12.83)."""
        if self.persister is not None:
            self.persister.start_persisting(barrier.checkpoint_id, ())

    def checkpoint_stopped(self, checkpoint_id: int) -> None:
        if self.persister is not None:
            self.persister.stop_persisting(checkpoint_id)

    def resume_consumption(self) -> None:
        """Resumes the view after the event that blocked it (rules 5.27, 6.17)."""
        if self.released:
            raise IllegalState(f"channel {self.channel_id} was resumed after its end")
        self.view.resume_consumption()
        if self.view.is_available(True):
            self.gate.notify_channel_non_empty(self)

    def acknowledge_all_records_processed(self) -> None:
        super().acknowledge_all_records_processed()
        if self.view.awaits_acknowledgement:
            if self._consumer.sealed:
                self._consumer.hold_report(self.view.acknowledge_all_data_processed)
            else:
                self.view.acknowledge_all_data_processed()

    def announce_buffer_size(self, size_bytes: int) -> None:
        if self._consumer.sealed:
            self._consumer.hold_upstream(LocalBufferSize(self, size_bytes))
        else:
            self.view.notify_new_buffer_size(size_bytes)

    def next_buffer(self) -> BufferAndAvailability | None:
        """Returns the next buffer or event; skips empty buffers. While the producer is sealed, only a priority event."""
        if self.released:
            return None
        is_sealed = self._producer.sealed
        if is_sealed:
            self._producer.hold_local_channel(self)
            # A published priority event is before what the running batch has written.
            if not self._has_priority_event:
                return None
        polled = self.view.poll()
        while polled is not None and not len(polled.buffer):
            polled.buffer.recycle()
            polled = self.view.poll()
        if polled is None:
            return None
        buffer = polled.buffer
        if self.persister is not None:
            if buffer.event is None:
                self.persister.maybe_persist(buffer.payload)
            else:
                self.persister.check_for_barrier(buffer.event)
        if self.trace is not None:
            kind = buffer_kind(buffer.data_type)
            self.trace.buffer(
                self.channel_id, BufferSide.RECEIVED, polled.sequence_number, kind, len(buffer), polled.backlog, -1
            )
        next_type = polled.next_type
        if self._has_priority_event and buffer.data_type.has_priority:
            self._has_priority_event = next_type.has_priority and not is_sealed
            if next_type.has_priority and is_sealed:
                self._producer.hold_priority_event(PriorityEvent(self, polled.sequence_number + 1))
        return BufferAndAvailability(buffer, DataType.NONE if is_sealed else next_type, polled.sequence_number)


class PriorityEvent:
    """The notification of a priority event; it waits for the end of the producer's batch."""

    __slots__ = ("_channel", "_sequence_number")

    def __init__(self, channel: LocalInputChannel, sequence_number: int) -> None:
        self._channel = channel
        self._sequence_number = sequence_number

    def publish(self) -> None:
        self._channel.notify_priority_event(self._sequence_number)


class LocalBufferSize:
    """A requested buffer size; it waits for the end of the consumer's batch."""

    __slots__ = ("_channel", "_size_bytes")

    def __init__(self, channel: LocalInputChannel, size_bytes: int) -> None:
        self._channel = channel
        self._size_bytes = size_bytes

    def publish(self) -> None:
        self._channel.announce_buffer_size(self._size_bytes)
