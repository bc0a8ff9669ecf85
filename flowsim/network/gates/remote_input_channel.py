"""The receiving side of a channel between task managers. Flink: RemoteInputChannel (sections 6.A, 6.B)."""

from __future__ import annotations

from itertools import islice

from mypy_extensions import mypyc_attr

from flowsim.errors import InvariantViolation
from flowsim.facts.kinds import BufferKind, BufferSide, CreditKind
from flowsim.facts.tracer import TaskTrace
from flowsim.network.buffers.buffer import EventBuffer, MemorySegment
from flowsim.network.buffers.data_type import DataType, buffer_kind
from flowsim.network.buffers.network_buffer_pool import NetworkBufferPool
from flowsim.network.connections.partition_request_client import PartitionRequestClient
from flowsim.network.errors import IllegalState
from flowsim.network.gates.buffer_manager import BufferManager
from flowsim.network.gates.channel_state_persister import ChannelStatePersister
from flowsim.network.gates.input_channel import (
    BufferAndAvailability,
    ChannelGate,
    InputChannel,
    Received,
    ReceivedBuffer,
)
from flowsim.network.partitions.prioritized_deque import PrioritizedList, PrioritizedQueue
from flowsim.network.partitions.result_subpartition import Buffer
from flowsim.streamrecord.checkpoint_exception import CheckpointException, CheckpointFailureReason
from flowsim.streamrecord.events import CheckpointBarrier, Event, EventAnnouncement


@mypyc_attr(allow_interpreted_subclasses=True)
class RemoteInputChannel(InputChannel):
    """A channel with credits (rules 6.2 to 6.14). Flink: RemoteInputChannel.

    ``client`` is notified when unannounced credit becomes positive. Its message then carries the result of
    ``get_and_reset_unannounced_credit``, so one message announces several increments (rule 6.8). Invariant I6.d:
    sequence numbers are consecutive.
    """

    __slots__ = (
        "client",
        "buffers",
        "_received",
        "_expected",
        "initial_credit",
        "unannounced_credit",
        "_void_credit",
        "_last_barrier_id",
        "_last_barrier_sequence_number",
    )

    def __init__(
        self,
        gate: ChannelGate,
        index: int,
        channel_id: int,
        exclusive_buffers: int,
        client: PartitionRequestClient,
        network_pool: NetworkBufferPool,
        trace: TaskTrace | None,
    ) -> None:
        super().__init__(gate, index, channel_id, trace)
        self.client = client
        self.buffers = BufferManager(self, gate.pool, network_pool, exclusive_buffers)
        self._received: PrioritizedQueue[tuple[Received, int]] = PrioritizedList()
        self._expected = 0
        self.initial_credit = exclusive_buffers
        self.unannounced_credit = 0
        self._void_credit = 0
        """The part of the unannounced credit whose buffers were given back (rule 6.13)."""
        self._last_barrier_id = -1
        self._last_barrier_sequence_number: int | None = None
        """None: the barrier of the running checkpoint has not arrived, so all queued data precedes it."""
        if trace is not None:
            trace.credit(channel_id, CreditKind.INITIAL_GRANTED, exclusive_buffers, -1)

    @property
    def queued_buffers(self) -> int:
        return len(self._received)

    @property
    def exclusive_available(self) -> int:
        """Number of empty exclusive buffers."""
        return self.buffers.exclusive_available

    @property
    def floating_available(self) -> int:
        """Number of empty floating buffers of the channel."""
        return self.buffers.floating_available

    @property
    def buffers_in_use(self) -> int:
        """Number of received buffers and of buffers required for the sender's backlog (rule 6.23)."""
        return len(self._received) + max(0, self.buffers.required - self.initial_credit)

    # Messages from the sender.

    def on_buffer(self, buffer: Buffer, sequence_number: int, backlog: int) -> None:
        """Moves a buffer that arrives to reserved memory, so that the sender's buffer is free (rules 6.12, 6.14).

        A released channel drops the buffer. Raises InvariantViolation for a gap in the sequence numbers, or for data
        without a reserved buffer.
        """
        data_type = buffer.data_type
        if self.released:
            self._trace_received(buffer, sequence_number, backlog)
            if data_type is DataType.DATA_BUFFER:
                self.trace_recycled(sequence_number, len(buffer))
            buffer.recycle()
            return
        if sequence_number != self._expected:
            raise InvariantViolation(
                f"channel {self.channel_id}: expected buffer {self._expected}, received {sequence_number}"
            )
        if data_type is DataType.DATA_BUFFER:
            self._on_data(buffer, sequence_number, backlog)
        else:
            self._trace_received(buffer, sequence_number, backlog)
            if data_type.is_blocking_upstream and self.initial_credit == 0:
                self._trace_void_credit()
                self.buffers.release_floating_buffers()  # Rule 6.13: nothing arrives until the channel is resumed.
            self._on_event(buffer, sequence_number, data_type)
        self.on_sender_backlog(backlog)

    def _trace_void_credit(self) -> None:
        """Records the announced credit for buffers that the channel gives back (rule 6.13)."""
        void = self.buffers.floating_available - self.unannounced_credit
        self._void_credit = self.unannounced_credit
        if void > 0 and self.trace is not None:
            self.trace.credit(self.channel_id, CreditKind.ANNOUNCED, -void, -1)

    def _on_data(self, buffer: Buffer, sequence_number: int, backlog: int) -> None:
        segment = self.buffers.request_buffer()
        if segment is None:
            raise InvariantViolation(f"channel {self.channel_id} received a data buffer without a reserved buffer")
        self._trace_received(buffer, sequence_number, backlog)
        self._expected += 1
        payload = buffer.payload
        buffer.recycle()
        if self.persister is not None:
            self.persister.maybe_persist(payload)
        if not payload:
            # Rule 6.13: an empty buffer only returns its credit.
            self.trace_recycled(sequence_number, 0)
            self.buffers.recycle(segment)
            return
        received = self._received
        was_empty = not received
        recycler = self.buffers if self.trace is None else RecordedRecycling(self, sequence_number, len(payload))
        self._received = received.appended((ReceivedBuffer(payload, segment, recycler), sequence_number))
        if was_empty:
            self.gate.notify_channel_non_empty(self)

    def _on_event(self, buffer: Buffer, sequence_number: int, data_type: DataType) -> None:
        self._expected += 1
        received = self._received
        was_empty = not received
        first_priority = False
        if data_type.has_priority:
            first_priority = self._add_priority(buffer, sequence_number)
        else:
            self._received = received.appended((buffer, sequence_number))
            event = buffer.event
            if data_type.requires_announcement and isinstance(event, CheckpointBarrier):
                announcement = EventBuffer(EventAnnouncement(event, sequence_number), has_priority=True)
                first_priority = self._add_priority(announcement, sequence_number)
        if self.persister is not None and buffer.event is not None:
            self._check_for_barrier(self.persister, buffer.event, sequence_number)
        if first_priority:
            self.gate.notify_priority_event(self, sequence_number)
        if was_empty:
            self.gate.notify_channel_non_empty(self)

    def _check_for_barrier(self, persister: ChannelStatePersister, event: Event, sequence_number: int) -> None:
        checkpoint_id = persister.check_for_barrier(event)
        if checkpoint_id is not None and checkpoint_id > self._last_barrier_id:
            self._last_barrier_id, self._last_barrier_sequence_number = checkpoint_id, sequence_number

    def on_sender_backlog(self, backlog: int) -> None:
        """Reserves floating buffers for the sender's backlog (rule 6.4)."""
        if not self.released:
            self.notify_buffer_available(self.buffers.request_floating_buffers(backlog + self.initial_credit))

    # Calls from the task.

    def checkpoint_started(self, barrier: CheckpointBarrier) -> None:
        """Stores the queued data that precedes the barrier, and data that arrives before it (rule 12.83).

        Raises CheckpointException if the barrier of a newer checkpoint has arrived.
        """
        if self.persister is None:
            return
        checkpoint_id = barrier.checkpoint_id
        if checkpoint_id < self._last_barrier_id:
            raise CheckpointException(
                CheckpointFailureReason.CHECKPOINT_SUBSUMED,
                f"Sequence number for checkpoint {checkpoint_id} is not known (it was likely been overwritten by a newer "
                f"checkpoint {self._last_barrier_id})",
            )
        if checkpoint_id > self._last_barrier_id:
            self._last_barrier_id, self._last_barrier_sequence_number = -1, None
        self.persister.start_persisting(checkpoint_id, self._inflight_buffers())

    def checkpoint_stopped(self, checkpoint_id: int) -> None:
        if self.persister is None:
            return
        self.persister.stop_persisting(checkpoint_id)
        if self._last_barrier_id == checkpoint_id:
            self._last_barrier_id, self._last_barrier_sequence_number = -1, None

    def _inflight_buffers(self) -> list[bytes]:
        """Returns the queued data before the barrier; all of it if the barrier has not arrived."""
        barrier = self._last_barrier_sequence_number
        return [
            buffer.payload
            for buffer, number in islice(self._received, self._received.priority_elements, None)
            if buffer.event is None and (barrier is None or number < barrier)
        ]

    def next_buffer(self) -> BufferAndAvailability | None:
        received = self._received
        if not received:
            return None
        buffer, sequence_number = received.popleft()
        following = received[0][0].data_type if received else DataType.NONE
        return BufferAndAvailability(buffer, following, sequence_number)

    def resume_consumption(self) -> None:
        """Resumes after a blocking event; without exclusive buffers, both sides restart with 0 credits (rule 6.13)."""
        if self.released:
            raise IllegalState(f"channel {self.channel_id} was resumed after its end")
        if self.initial_credit == 0:
            self.unannounced_credit = self._void_credit = 0
        self.client.resume_consumption(self)

    def acknowledge_all_records_processed(self) -> None:
        super().acknowledge_all_records_processed()
        self.client.acknowledge_all_records_processed(self)

    def announce_buffer_size(self, size_bytes: int) -> None:
        self.client.notify_new_buffer_size(self, size_bytes)

    def convert_to_priority_event(self, sequence_number: int) -> None:
        """Lets the barrier with this number, which timed out, overtake the queued data (rule 5.32).

        The announcement of the barrier must have been read. Raises IllegalState if no queued event can overtake.
        """
        removed = self._received.get_and_remove(lambda waiting: waiting[1] == sequence_number)
        event = removed[0].event if removed is not None else None
        if removed is None or event is None or removed[0].data_type.has_priority:
            raise IllegalState(f"channel {self.channel_id}: no event {sequence_number} in the queue can overtake")
        if self._add_priority(EventBuffer(event, has_priority=True), sequence_number):
            self.gate.notify_priority_event_force(self)

    def get_and_reset_unannounced_credit(self) -> int:
        credit, self.unannounced_credit = self.unannounced_credit, 0
        if self.trace is not None and credit:
            self.trace.credit(self.channel_id, CreditKind.ANNOUNCED, credit, -1)
            if self._void_credit > 0:
                self.trace.credit(self.channel_id, CreditKind.ANNOUNCED, -self._void_credit, -1)
        self._void_credit = 0
        return credit

    def release(self) -> None:
        if self.released:
            return
        super().release()
        waiting = [buffer for buffer, _ in self._received]
        self._received.clear()
        self.buffers.release_all(waiting)

    def _add_priority(self, buffer: Received, sequence_number: int) -> bool:
        self._received.add_priority_element((buffer, sequence_number))
        return self._received.priority_elements == 1

    def notify_buffer_available(self, count: int) -> None:
        """Adds credits; only the first unannounced credit causes a message (rule 6.8)."""
        if count <= 0:
            return
        first = self.unannounced_credit == 0
        self.unannounced_credit += count
        if first:
            self.client.notify_credit_available(self)

    def trace_recycled(self, sequence_number: int, size_bytes: int) -> None:
        """Records that the memory of a data buffer becomes free."""
        if self.trace is not None:
            self.trace.buffer(
                self.channel_id, BufferSide.RECYCLED, sequence_number, BufferKind.DATA, size_bytes, -1, -1
            )

    def _trace_received(self, buffer: Buffer, sequence_number: int, backlog: int) -> None:
        if self.trace is not None:
            kind = buffer_kind(buffer.data_type)
            reserved = -1 if self.released else self.buffers.available
            self.trace.buffer(
                self.channel_id, BufferSide.RECEIVED, sequence_number, kind, len(buffer), backlog, reserved
            )


class RecordedRecycling:
    """Records that one buffer is recycled, and returns the memory to its channel."""

    __slots__ = ("_channel", "_sequence_number", "_size_bytes")

    def __init__(self, channel: RemoteInputChannel, sequence_number: int, size_bytes: int) -> None:
        self._channel = channel
        self._sequence_number = sequence_number
        self._size_bytes = size_bytes

    def recycle(self, segment: MemorySegment) -> None:
        self._channel.trace_recycled(self._sequence_number, self._size_bytes)
        self._channel.buffers.recycle(segment)
