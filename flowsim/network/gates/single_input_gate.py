"""All channels of one edge at one receiver, polled in turn. Flink: SingleInputGate (section 7.A)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from flowsim.errors import InvariantViolation
from flowsim.facts.schema import RECOVERED_FIRST
from flowsim.facts.tracer import TaskTrace
from flowsim.network.buffers.buffer import wire_size
from flowsim.network.buffers.data_type import DataType
from flowsim.network.buffers.local_buffer_pool import LocalBufferPool
from flowsim.network.channel_state_writer import ChannelStateWriter
from flowsim.network.errors import InputGateClosed
from flowsim.network.gates.buffer_debloater import BufferDebloater, ThroughputCalculator
from flowsim.network.gates.channel_state_persister import ChannelStatePersister
from flowsim.network.gates.input_channel import InputChannel
from flowsim.network.gates.input_gate import AvailabilityHelper, BufferOrEvent, EndOfDataStatus
from flowsim.network.gates.local_input_channel import LocalInputChannel
from flowsim.network.gates.recovered_input_channel import RecoveredInputChannel
from flowsim.network.partitions.prioritized_deque import PrioritizedDeque
from flowsim.state.redistribution.channel_state_handles import InputChannelInfo
from flowsim.streamrecord.events import CheckpointBarrier, EndOfData, EndOfPartitionEvent, StopMode

_HALF = (2**31 - 1) // 2


class InputChannelFactory(Protocol):
    """Creates the channels of a gate.

    A Protocol, because the network does not import the cluster, which implements it. Flink: SingleInputGateFactory.
    """

    def create_input_channel(self, gate: SingleInputGate, index: int) -> InputChannel: ...


class SingleInputGate:
    """Polls its channels in turn, one buffer per turn (rules 7.1-7.8). Flink: SingleInputGate.

    Channels with data wait in one queue, each channel at most once.

    ``channel_factory`` creates channel ``i`` on first use. Invariants: between two polls of a channel every other
    non-empty channel is polled (I7.a); a channel is never queued after its EndOfPartition.
    """

    __slots__ = (
        "count",
        "pool",
        "availability",
        "priority_availability",
        "_channels",
        "_channel_factory",
        "_queue",
        "_ended_data",
        "_ended_partitions",
        "_drain",
        "finished",
        "_closed",
        "throughput",
        "debloater",
        "announced_size_bytes",
        "_edge",
        "_trace",
        "_local",
        "_persisters",
        "_recovered",
        "_requests",
    )

    def __init__(self, channels: int, pool: LocalBufferPool, channel_factory: InputChannelFactory) -> None:
        self.count = channels
        self.pool = pool
        self.availability = AvailabilityHelper()
        self.priority_availability = AvailabilityHelper()
        self._channels: list[InputChannel | None] = [None] * channels
        self._channel_factory = channel_factory
        self._queue: PrioritizedDeque[InputChannel] = PrioritizedDeque()
        self._ended_data = 0
        self._ended_partitions = 0
        self._drain = True
        self.finished = False
        self._closed = False
        self._local: list[LocalInputChannel] = []
        self.throughput: ThroughputCalculator | None = None
        """The throughput meter; used only with buffer debloating (rule 6.24)."""
        self.debloater: BufferDebloater | None = None
        self.announced_size_bytes: int | None = None
        """The last announced buffer size in bytes; channels that are connected later get it too."""
        self._edge = -1
        self._trace: TaskTrace | None = None
        self._persisters: tuple[ChannelStateWriter, int] | None = None
        """The writer of channel state, and the index of the gate in its task; None without unaligned checkpoints."""
        self._recovered: dict[int, RecoveredInputChannel] = {}
        """The channels with stored data, by index in the gate, until it has been read."""
        self._requests: list[Callable[[], None]] | None = None
        """What waits until the stored data has been read; None: the partitions have been requested."""

    def channel(self, index: int) -> InputChannel:
        input_channel = self._channels[index]
        if input_channel is None:
            input_channel = self._channel_factory.create_input_channel(self, index)
            self._channels[index] = input_channel
            if self._persisters is not None:
                writer, gate = self._persisters
                input_channel.persister = ChannelStatePersister(writer, InputChannelInfo(gate, index))
            if isinstance(input_channel, LocalInputChannel):
                self._local.append(input_channel)
            if self._closed:
                input_channel.release()
        return input_channel

    @property
    def known_channels(self) -> Sequence[InputChannel | None]:
        """All channels by index; None: not in use so far."""
        return self._channels

    @property
    def created_channels(self) -> list[InputChannel]:
        """The channels in use so far, in the order of their indexes."""
        return [channel for channel in self._channels if channel is not None]

    def unfinished_channels(self) -> list[int]:
        """Returns the indexes of the channels that have not ended."""
        return [
            index for index, channel in enumerate(self._channels) if channel is None or not channel.end_of_partition
        ]

    # Unaligned checkpoints, and the data that they stored.

    def set_channel_state_writer(self, writer: ChannelStateWriter, gate: int) -> None:
        """Lets unaligned checkpoints store data; called before the first channel is used. ``gate``: index in the task."""
        self._persisters = writer, gate

    def block_consumption(self, channel: InputChannelInfo) -> None:
        """Does nothing: the barrier has stopped the sender (rule 5.27)."""

    def resume_consumption(self, channel: InputChannelInfo) -> None:
        """Lets the sender go on. Raises IllegalState after the end of the channel."""
        self.channel(channel.channel).resume_consumption()

    def convert_to_priority_event(self, channel: int, sequence_number: int) -> None:
        """Lets an announced barrier overtake the data before it (rule 12.87)."""
        self.channel(channel).convert_to_priority_event(sequence_number)

    def checkpoint_started(self, barrier: CheckpointBarrier) -> None:
        """Starts to store data of all channels. Raises CheckpointException (rules 12.83, 12.93)."""
        for recovered in self._recovered.values():
            recovered.checkpoint_started(barrier)
        for index in range(self.count):
            self.channel(index).checkpoint_started(barrier)

    def checkpoint_stopped(self, checkpoint_id: int) -> None:
        """Ends the storing."""
        for index in range(self.count):
            self.channel(index).checkpoint_stopped(checkpoint_id)

    def recover(self, channels: Mapping[int, RecoveredInputChannel]) -> None:
        """Delivers the stored data of ``channels``, which are given by their index in the gate (rule 12.92)."""
        self._recovered = dict(channels)
        for channel in channels.values():
            self.notify_channel_non_empty(channel)

    def await_recovery(self) -> None:
        """Lets senders wait until ``request_partitions``; called before the first one is connected."""
        self._requests = []

    @property
    def awaits_recovery(self) -> bool:
        """True until the partitions are requested, if stored data is read first."""
        return self._requests is not None

    def when_partitions_requested(self, connect: Callable[[], None]) -> None:
        """Calls ``connect`` when all stored data has been read; never if the gate is closed before."""
        if self._requests is not None:
            self._requests.append(connect)

    def request_partitions(self) -> None:
        """Replaces the channels of stored data by real ones, and connects the senders. Flink: requestPartitions."""
        if self._closed:
            return
        requests, self._requests = self._requests or [], None
        recovered, self._recovered = self._recovered, {}
        for index in range(self.count):
            channel = self.channel(index)
            channel.position = RECOVERED_FIRST
            before = recovered.get(index)
            if before is not None:
                channel.tail, channel.position = before.tail, before.position
                before.release()
        for connect in requests:
            connect()

    @property
    def is_available(self) -> bool:
        return self.availability.available

    def when_available(self, callback: Callable[[], None]) -> None:
        self.availability.when_available(callback)

    # Calls from channels.

    def notify_channel_non_empty(self, channel: InputChannel) -> None:
        """Queues a channel that has data (rules 7.1, 7.2)."""
        if channel.enqueued or channel.end_of_partition:
            return
        channel.enqueued = True
        self._queue.append(channel)
        if len(self._queue) == 1:
            self.availability.set_available()

    def notify_priority_event(self, channel: InputChannel, sequence_number: int) -> None:
        """Queues ``channel`` with priority for the priority event at its head.

        Has no effect if the event was read meanwhile (rule 7.5).
        """
        if not is_outdated(sequence_number, channel.last_priority_sequence_number):
            self.notify_priority_event_force(channel)

    def notify_priority_event_force(self, channel: InputChannel) -> None:
        """Queues ``channel`` as ``notify_priority_event`` does, without checking whether the event was read."""
        queue = self._queue
        if not self._enqueue_with_priority(channel):
            return
        if queue.priority_elements == 1:
            self.priority_availability.set_available()
        if len(queue) == 1:
            self.availability.set_available()

    # Calls from the task.

    def poll(self) -> BufferOrEvent | None:
        """Returns the next buffer or event (rules 7.3, 7.4, 7.8). Raises InputGateClosed."""
        if self.finished:
            return None
        if self._closed:
            raise InputGateClosed("Input gate is already closed.")
        queue = self._queue
        while queue:
            channel = queue.popleft()
            channel.enqueued = False
            polled = channel.next_buffer()
            if polled is None:
                continue
            received, next_type, sequence_number = polled
            if next_type is not DataType.NONE:
                self._enqueue_again(channel, next_type)
            if received.data_type.has_priority:
                channel.last_priority_sequence_number = sequence_number
                if not queue.priority_elements:
                    self.priority_availability.reset_unavailable()
            more, more_priority = bool(queue), queue.priority_elements > 0
            if not more:
                self.availability.reset_unavailable()
            event = received.event
            if self.throughput is not None:
                self.throughput.incoming_data_size(len(received.payload) if event is None else wire_size(event))
            if event is not None:
                if isinstance(event, EndOfPartitionEvent):
                    self._end_partition(channel)
                    more = more and not self.finished
                elif isinstance(event, EndOfData):
                    self._ended_data += 1
                    self._drain = self._drain and event.mode is StopMode.DRAIN
            return BufferOrEvent(channel, received, more, more_priority)
        self.availability.reset_unavailable()
        if self.throughput is not None:
            self.throughput.pause_measurement()
        return None

    # Buffer debloating.

    def begin_debloating(
        self, throughput: ThroughputCalculator, debloater: BufferDebloater, edge: int, trace: TaskTrace | None
    ) -> None:
        """Enables ``trigger_debloating`` to announce sizes; it records them in ``trace`` as facts of ``edge``."""
        self.throughput, self.debloater, self._edge, self._trace = throughput, debloater, edge, trace

    def trigger_debloating(self) -> None:
        """Measures the throughput, and announces the buffer size if it changed enough (rule 6.23)."""
        if self.finished or self.throughput is None or self.debloater is None:
            return
        throughput, in_use = self.throughput.calculate_throughput(), self.buffers_in_use
        size_bytes = self.debloater.recalculate_buffer_size(throughput, in_use)
        if size_bytes is None:
            return
        if self._trace is not None:
            self._trace.buffer_size(self._edge, size_bytes, throughput, in_use)
        self.announce_buffer_size(size_bytes)

    def announce_buffer_size(self, size_bytes: int) -> None:
        """Requests buffers of up to this size from every sender, unless senders wait for stored data (rule 6.24)."""
        if self.awaits_recovery:
            return
        self.announced_size_bytes = size_bytes
        for channel in self._channels:
            if channel is not None:
                channel.announce_buffer_size(size_bytes)

    def end_of_data_status(self) -> EndOfDataStatus:
        """How the data of the gate ended; drained only if every channel drained (rule 7.7)."""
        if self._ended_data < self.count:
            return EndOfDataStatus.NOT_END_OF_DATA
        return EndOfDataStatus.DRAINED if self._drain else EndOfDataStatus.STOPPED

    @property
    def queued_buffers(self) -> int:
        """The number of queued buffers (rule 13.6).

        Read in every batch, so it skips unqueued remote channels: they have no buffers.
        """
        if not self._queue and not self._local:
            return 0
        remote = sum(channel.queued_buffers for channel in self._queue if not isinstance(channel, LocalInputChannel))
        return remote + sum(channel.queued_buffers for channel in self._local)

    @property
    def buffers_in_use(self) -> int:
        """The number of buffers in use by all channels (rule 6.23)."""
        return sum(channel.buffers_in_use for channel in self._channels if channel is not None)

    def close(self) -> None:
        """Drops queued buffers and all buffers that arrive later."""
        if self._closed:
            return
        self._closed = True
        for channel in self._channels:
            if channel is not None:
                channel.release()
        for recovered in self._recovered.values():
            recovered.release()
        self.pool.lazy_destroy()

    def _enqueue_again(self, channel: InputChannel, next_type: DataType) -> None:
        if next_type.has_priority:
            self._enqueue_with_priority(channel)
        elif not channel.enqueued:
            # The read may have caused the channel to queue itself.
            channel.enqueued = True
            self._queue.append(channel)

    def _enqueue_with_priority(self, channel: InputChannel) -> bool:
        """Moves a channel without priority to the front of the queue. Returns True if the queue changed."""
        queue = self._queue
        if channel.end_of_partition or (channel.enqueued and queue.contains_priority_element(channel)):
            return False
        if channel.enqueued:
            queue.prioritize(channel)
        else:
            channel.enqueued = True
            queue.add_priority_element(channel)
        return True

    def _end_partition(self, channel: InputChannel) -> None:
        """Handles EndOfPartition of a channel (rule 7.6)."""
        if channel.end_of_partition:
            raise InvariantViolation(f"channel {channel.channel_id} delivered EndOfPartition twice")
        channel.end_of_partition = True
        self._ended_partitions += 1
        self.finished = self._ended_partitions == self.count
        if channel.enqueued:
            channel.enqueued = False
            self._queue.get_and_remove(lambda waiting: waiting is channel)
        if self.finished:
            self.availability.set_available()
        channel.release()


def is_outdated(sequence_number: int, last: int) -> bool:
    """Returns True if a 32-bit sequence number is not newer than ``last`` (rule 7.5).

    One of the numbers may have wrapped around.
    """
    if (last < 0) != (sequence_number < 0) and max(last, sequence_number) > _HALF:
        return last < 0
    return last >= sequence_number
