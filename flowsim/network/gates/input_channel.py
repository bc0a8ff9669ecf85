"""One channel of a gate, and the result of reading it. Flink: InputChannel."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from mypy_extensions import mypyc_attr

from flowsim.facts.tracer import TaskTrace
from flowsim.network.buffers.buffer import BufferRecycler, MemorySegment
from flowsim.network.buffers.data_type import DataType
from flowsim.network.buffers.local_buffer_pool import LocalBufferPool
from flowsim.network.errors import IllegalState
from flowsim.network.gates.channel_state_persister import ChannelStatePersister
from flowsim.network.partitions.result_subpartition import Buffer
from flowsim.streamrecord.codec import CutElement
from flowsim.streamrecord.events import CheckpointBarrier

NO_SEQUENCE_NUMBER = -(2**31)
"""A number lower than every sequence number (rule 7.5)."""


class ReceivedBuffer:
    """Bytes in a buffer of the receiver; ``recycle`` frees that buffer (rule 6.5). Flink: NetworkBuffer."""

    __slots__ = ("payload", "_segment", "_recycler")

    event: None = None

    def __init__(self, payload: bytes, segment: MemorySegment, recycler: BufferRecycler) -> None:
        self.payload = payload
        self._segment = segment
        self._recycler = recycler

    @property
    def data_type(self) -> DataType:
        return DataType.DATA_BUFFER

    def recycle(self) -> None:
        self._recycler.recycle(self._segment)


Received = ReceivedBuffer | Buffer


class BufferAndAvailability(NamedTuple):
    """The result of reading a channel once (rule 7.9). Flink: InputChannel.BufferAndAvailability."""

    received: Received
    next_type: DataType
    """The type of the next buffer or event of the channel; NONE if nothing can be read now."""
    sequence_number: int


class ChannelGate(Protocol):
    """The gate of a channel.

    A Protocol, because SingleInputGate, which implements it, owns its channels.
    """

    pool: LocalBufferPool
    """Provides the floating buffers of remote channels."""

    def notify_channel_non_empty(self, channel: InputChannel) -> None: ...

    def notify_priority_event(self, channel: InputChannel, sequence_number: int) -> None: ...

    def notify_priority_event_force(self, channel: InputChannel) -> None: ...


@mypyc_attr(allow_interpreted_subclasses=True)
class InputChannel:
    """One channel of a gate. Flink: InputChannel.

    ``index`` is the flattened index in the task input, as in the valve. ``tail`` contains the undecoded bytes of a
    partial element (rule 7.16). ``position`` counts the elements and events decoded so far. ``enqueued``,
    ``end_of_partition`` and ``last_priority_sequence_number`` belong to the gate.
    """

    __slots__ = (
        "gate",
        "index",
        "channel_id",
        "released",
        "tail",
        "position",
        "trace",
        "enqueued",
        "end_of_partition",
        "last_priority_sequence_number",
        "persister",
    )

    def __init__(self, gate: ChannelGate, index: int, channel_id: int, trace: TaskTrace | None) -> None:
        self.gate = gate
        self.index = index
        self.channel_id = channel_id
        self.released = False
        self.tail: bytes | CutElement = b""
        """The beginning of an element that continues in the next buffer."""
        self.position = 0
        self.trace = trace
        self.enqueued = False
        self.end_of_partition = False
        self.last_priority_sequence_number = NO_SEQUENCE_NUMBER
        self.persister: ChannelStatePersister | None = None
        """Stores data for unaligned checkpoints; None: the job takes none."""

    def next_buffer(self) -> BufferAndAvailability | None:
        """Returns the next buffer or event; None if there is none now."""
        raise NotImplementedError

    def resume_consumption(self) -> None:
        """Resumes after an event that blocked the channel (rules 5.27, 6.13)."""
        raise NotImplementedError

    def acknowledge_all_records_processed(self) -> None:
        """Called when the consumer has processed all records up to EndOfData (rule 7.12).

        Raises IllegalState after the channel's end.
        """
        if self.released:
            raise IllegalState(f"channel {self.channel_id} was acknowledged after its end")

    def checkpoint_started(self, barrier: CheckpointBarrier) -> None:
        """Stores queued data, and data that arrives before the barrier. Raises CheckpointException (rule 12.83)."""
        raise NotImplementedError

    def checkpoint_stopped(self, checkpoint_id: int) -> None:
        """Ends the storing: all barriers arrived, or the checkpoint is aborted."""
        raise NotImplementedError

    def convert_to_priority_event(self, sequence_number: int) -> None:
        """Does nothing: only a remote channel announces barriers (rule 12.20)."""

    def announce_buffer_size(self, size_bytes: int) -> None:
        """Requests buffers of up to this size from the sender (rule 6.24)."""
        raise NotImplementedError

    def release(self) -> None:
        """Releases the channel, because EndOfPartition was read or the task is ending (rule 7.6)."""
        self.released = True
        self.tail = b""

    @property
    def queued_buffers(self) -> int:
        raise NotImplementedError

    @property
    def buffers_in_use(self) -> int:
        """The number of buffers in use, as buffer debloating counts them (rule 6.23)."""
        return self.queued_buffers
