"""Memory segments and buffers on them. Flink: MemorySegment, NetworkBuffer."""

from __future__ import annotations

from typing import Final, Protocol, assert_never

from mypy_extensions import mypyc_attr

from flowsim.errors import InvariantViolation
from flowsim.network.buffers.data_type import DataType, data_type_of
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


@mypyc_attr(allow_interpreted_subclasses=True)
class BufferSlice:
    """Bytes read from a buffer; the slice retains the buffer until ``recycle``. Flink: ReadOnlySlicedNetworkBuffer."""

    __slots__ = ("payload", "_buffer")

    event: None = None

    def __init__(self, payload: bytes, buffer: NetworkBuffer) -> None:
        self.payload = payload
        self._buffer = buffer

    @property
    def data_type(self) -> DataType:
        return DataType.DATA_BUFFER

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
