"""Memory segments, buffers on them, and what a buffer holds. Flink: MemorySegment, NetworkBuffer, Buffer.DataType."""

from __future__ import annotations

from enum import Enum
from typing import Final, Protocol, assert_never

from flowsim.errors import InvariantViolation
from flowsim.facts.kinds import BufferKind
from flowsim.streamrecord.events import (
    CancelCheckpointMarker,
    CheckpointBarrier,
    EndOfData,
    EndOfInputChannelStateEvent,
    EndOfOutputChannelStateEvent,
    EndOfPartitionEvent,
    Event,
    EventAnnouncement,
    SubtaskConnectionDescriptor,
)


class DataType(Enum):
    """The kind of content of a buffer. Flink: Buffer.DataType."""

    NONE = "NONE"
    DATA_BUFFER = "DATA_BUFFER"
    EVENT_BUFFER = "EVENT_BUFFER"
    PRIORITIZED_EVENT_BUFFER = "PRIORITIZED_EVENT_BUFFER"
    ALIGNED_CHECKPOINT_BARRIER = "ALIGNED_CHECKPOINT_BARRIER"
    TIMEOUTABLE_ALIGNED_CHECKPOINT_BARRIER = "TIMEOUTABLE_ALIGNED_CHECKPOINT_BARRIER"
    RECOVERY_COMPLETION = "RECOVERY_COMPLETION"
    END_OF_DATA = "END_OF_DATA"
    END_OF_PARTITION = "END_OF_PARTITION"

    is_event: bool
    """True for an event: it needs no credit and does not count as backlog (rules 5.18, 6.11)."""
    is_blocking_upstream: bool
    """True if the event blocks its subpartition until the reader resumes consumption (rule 5.27)."""
    has_priority: bool
    """True if the event overtakes queued buffers (rule 5.28)."""
    requires_announcement: bool
    """True if the event is announced to the receiver at once, before earlier data."""

    def __init__(self, name: str) -> None:
        self.is_event = name not in ("NONE", "DATA_BUFFER")
        self.is_blocking_upstream = name.endswith("ALIGNED_CHECKPOINT_BARRIER") or name == "RECOVERY_COMPLETION"
        self.has_priority = name == "PRIORITIZED_EVENT_BUFFER"
        self.requires_announcement = name == "TIMEOUTABLE_ALIGNED_CHECKPOINT_BARRIER"


def buffer_kind(data_type: DataType) -> BufferKind:
    """Returns the kind of a buffer in facts."""
    if data_type is DataType.DATA_BUFFER:
        return BufferKind.DATA
    return BufferKind.PRIORITY_EVENT if data_type.has_priority else BufferKind.EVENT


def data_type_of(event: Event, has_priority: bool = False) -> DataType:
    """Returns the data type of an event."""
    if has_priority:
        return DataType.PRIORITIZED_EVENT_BUFFER
    if isinstance(event, CheckpointBarrier):
        if not event.options.needs_alignment:
            return DataType.EVENT_BUFFER
        if event.options.is_timeoutable:
            return DataType.TIMEOUTABLE_ALIGNED_CHECKPOINT_BARRIER
        return DataType.ALIGNED_CHECKPOINT_BARRIER
    if isinstance(event, EndOfData):
        return DataType.END_OF_DATA
    if isinstance(event, EndOfPartitionEvent):
        return DataType.END_OF_PARTITION
    if isinstance(event, EndOfOutputChannelStateEvent | EndOfInputChannelStateEvent):
        return DataType.RECOVERY_COMPLETION
    return DataType.EVENT_BUFFER


class MemorySegment:
    """A piece of network memory of at most ``size_bytes`` bytes; ``data`` contains the written bytes.

    Flink: MemorySegment.
    """

    __slots__ = ("data", "size_bytes")

    def __init__(self, size_bytes: int) -> None:
        self.data = bytearray()
        self.size_bytes = size_bytes


class BufferRecycler(Protocol):
    """Receives a segment when no buffer uses it any more. Flink: BufferRecycler."""

    def recycle(self, segment: MemorySegment) -> None: ...


class FreeingBufferRecycler:
    """The recycler of memory that does not belong to a pool. Flink: FreeingBufferRecycler."""

    __slots__ = ()

    def recycle(self, segment: MemorySegment) -> None:
        """Does nothing: there is no pool."""


FREEING: Final = FreeingBufferRecycler()
"""The recycler of memory without a pool. Flink: FreeingBufferRecycler.INSTANCE."""


class NetworkBuffer:
    """A reference-counted segment; the segment is recycled when the count reaches zero. Flink: NetworkBuffer.

    Invariant: the count reaches zero exactly once (I5.f).
    """

    __slots__ = ("segment", "_recycler", "references")

    def __init__(self, segment: MemorySegment, recycler: BufferRecycler) -> None:
        self.segment = segment
        self._recycler = recycler
        self.references = 1

    def retain(self) -> None:
        self.references += 1

    def recycle(self) -> None:
        """Releases one reference."""
        self.references -= 1
        if self.references == 0:
            # The next writer of the segment begins at byte 0; readers have copies of what they read.
            self.segment.data.clear()
            self._recycler.recycle(self.segment)
        elif self.references < 0:
            raise InvariantViolation("a network buffer was recycled more often than it was retained")


class BufferSlice:
    """Bytes read from a buffer; the slice retains the buffer until ``recycle``. Flink: ReadOnlySlicedNetworkBuffer."""

    __slots__ = ("payload", "_buffer")

    event: None = None
    data_type = DataType.DATA_BUFFER

    def __init__(self, payload: bytes, buffer: NetworkBuffer) -> None:
        self.payload = payload
        self._buffer = buffer

    def recycle(self) -> None:
        self._buffer.recycle()

    def __len__(self) -> int:
        return len(self.payload)


class EventBuffer:
    """An event as a separate buffer; needs no segment (rule 5.13). Flink: EventSerializer.toBuffer."""

    __slots__ = ("event", "data_type")

    payload: bytes = b""

    def __init__(self, event: Event, has_priority: bool = False) -> None:
        self.event = event
        self.data_type = data_type_of(event, has_priority)

    def recycle(self) -> None:
        """Does nothing: there is no segment."""

    def __len__(self) -> int:
        """Returns the size of the event in bytes in Flink's serialization (rule 5.13)."""
        return wire_size(self.event)


def wire_size(event: Event) -> int:
    """Returns the bytes of ``event`` as Flink serializes it: 4 bytes of type, then its fields.

    Barriers have no storage location in flowsim.
    """
    match event:
        case EndOfData():
            return 5
        case EndOfPartitionEvent() | EndOfOutputChannelStateEvent() | EndOfInputChannelStateEvent():
            return 4
        case CheckpointBarrier():
            return 38
        case CancelCheckpointMarker() | SubtaskConnectionDescriptor():
            return 12
        case EventAnnouncement():
            return 8 + wire_size(event.announced)
    assert_never(event)
