"""Memory segments and the reference-counted buffers on them. Flink: MemorySegment, NetworkBuffer, BufferRecycler."""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

from flowsim.errors import InvariantViolation
from flowsim.network.buffers.data_type import DataType, data_type_of
from flowsim.streamrecord.events import (
    CancelCheckpointMarker,
    CheckpointBarrier,
    EndOfData,
    EndOfPartitionEvent,
    Event,
    EventAnnouncement,
)


class MemorySegment:
    """A piece of network memory: holds at most ``size_bytes``; ``data`` is what is written. Flink: MemorySegment."""

    __slots__ = ("data", "size_bytes")

    def __init__(self, size_bytes: int) -> None:
        self.data = bytearray()
        self.size_bytes = size_bytes


Recycler = Callable[[MemorySegment], None]
"""Takes a segment back once nobody reads or writes it."""


class NetworkBuffer:
    """A segment with a count of its readers and writers; at zero the segment goes back. Flink: NetworkBuffer.

    Invariant: the count reaches zero exactly once (I5.f).
    """

    __slots__ = ("segment", "_recycler", "references")

    def __init__(self, segment: MemorySegment, recycler: Recycler) -> None:
        self.segment = segment
        self._recycler = recycler
        self.references = 1

    def retain(self) -> None:
        self.references += 1

    def recycle(self) -> None:
        """Gives up one reference."""
        self.references -= 1
        if self.references == 0:
            self.segment.data.clear()
            self._recycler(self.segment)
        elif self.references < 0:
            raise InvariantViolation("a network buffer was recycled more often than it was retained")


class BufferSlice:
    """Bytes read from a buffer, which stays retained until ``recycle``. Flink: ReadOnlySlicedNetworkBuffer."""

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
    """An event as a buffer of its own; needs no segment (rule 5.13). Flink: EventSerializer.toBuffer."""

    __slots__ = ("event", "data_type")

    payload: bytes = b""

    def __init__(self, event: Event, has_priority: bool = False) -> None:
        self.event = event
        self.data_type = data_type_of(event, has_priority)

    def recycle(self) -> None:
        """Nothing to give back."""

    def __len__(self) -> int:
        """What the event occupies on Flink's wire (rule 5.13)."""
        return wire_size(self.event)


def wire_size(event: Event) -> int:
    """Bytes of ``event`` as Flink serializes it: 4 of type and its fields; no barrier here has a storage location."""
    match event:
        case EndOfData():
            return 5
        case EndOfPartitionEvent():
            return 4
        case CheckpointBarrier():
            return 38
        case CancelCheckpointMarker():
            return 12
        case EventAnnouncement():
            return 8 + wire_size(event.announced)
    assert_never(event)
