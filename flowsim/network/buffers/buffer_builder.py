"""Writes a segment while it is read. Flink: BufferBuilder, BufferConsumer (rules 5.15-5.17)."""

from __future__ import annotations

from typing import ClassVar, Final

from flowsim.network.buffers.buffer import (
    BufferRecycler,
    BufferSlice,
    EventBuffer,
    MemorySegment,
    NetworkBuffer,
    wire_size,
)
from flowsim.network.buffers.data_type import DataType, data_type_of
from flowsim.network.errors import IllegalArgument, IllegalState, OutOfBounds
from flowsim.streamrecord.events import Event

_FINISHED_EMPTY: Final = -(2**31)
"""The writer's position after it finished without data: 0 has no negative (rule 5.15)."""


class BufferBuilder:
    """The writing side of one segment. Flink: BufferBuilder.

    ``data`` is the segment's bytearray; its length is the writer's position. The record writer encodes into it directly
    and sets ``committed``. ``cut_overflow`` must remove bytes beyond ``capacity`` before the consumer reads.
    """

    __slots__ = ("data", "capacity", "committed", "finished", "desired_size", "_buffer", "_consumer_exists")

    def __init__(self, segment: MemorySegment, recycler: BufferRecycler) -> None:
        self._buffer = NetworkBuffer(segment, recycler)
        self.data = segment.data
        self.capacity = segment.size_bytes
        self.committed = 0
        self.finished = False
        self.desired_size = 0
        """The size in bytes to trim to after the first record; 0 if no trim is pending (rule 5.17)."""
        self._consumer_exists = False

    def create_consumer(self) -> BufferConsumer:
        """Creates the only consumer of this builder. The consumer sees the bytes that are written from now on.

        Raises IllegalState for a second consumer, and IllegalArgument while bytes are uncommitted. The consumer of a
        finished builder is unusable: its ``build`` raises.
        """
        position = len(self.data)
        # Flink marks a finished writer by the negative of its position, and hands it to the consumer as it is (rule 5.15).
        return self._create_consumer((-position or _FINISHED_EMPTY) if self.finished else position)

    def create_consumer_from_beginning(self) -> BufferConsumer:
        """Creates the only consumer of this builder. The consumer sees all bytes.

        Raises IllegalState for a second consumer.
        """
        return self._create_consumer(0)

    def _create_consumer(self, position: int) -> BufferConsumer:
        if self._consumer_exists:
            raise IllegalState("a buffer builder has one consumer; copy that one")
        self._consumer_exists = True
        self._buffer.retain()
        return BufferConsumer(self, self._buffer, position)

    def append(self, source: bytes | memoryview) -> int:
        """Writes as many bytes as fit, not yet visible to the consumer.

        Returns the number of bytes. Raises IllegalState after ``finish``.
        """
        if self.finished:
            raise IllegalState("cannot append to a finished buffer")
        taken = min(len(source), self.writable_bytes)
        self.data += source[:taken]
        return taken

    def append_and_commit(self, source: bytes | memoryview) -> int:
        taken = self.append(source)
        self.commit()
        return taken

    def commit(self) -> None:
        """Makes the written bytes visible to the consumer."""
        if not self.finished:
            self.committed = len(self.data)

    def cut_overflow(self) -> bytes:
        """Removes and returns the bytes encoded beyond the capacity, and commits the rest."""
        overflow = bytes(self.data[self.capacity :])
        del self.data[self.capacity :]
        self.committed = len(self.data)
        return overflow

    def finish(self) -> int:
        """Ends writing and returns the number of bytes written. No effect on a finished builder."""
        self.committed = len(self.data)
        self.finished = True
        return self.committed

    def close(self) -> None:
        """Releases the writer's reference to the segment."""
        self._buffer.recycle()

    def trim(self, new_size: int) -> None:
        """Limits the capacity, but not below the written bytes and not above the segment size (rule 5.17)."""
        self.capacity = min(max(new_size, len(self.data)), self._buffer.segment.size_bytes)

    def trim_after_first_record(self, desired_size: int) -> None:
        """Trims to the larger of ``desired_size`` and the size of the first record, which is encoded next (rule 5.17).

        The size of that record is not known yet, so any byte fills the buffer, and ``settle`` sets the capacity.
        """
        if desired_size < self._buffer.segment.size_bytes:
            self.desired_size = desired_size
            self.capacity = 0

    def settle(self) -> None:
        """Sets the capacity after the first record."""
        self.trim(self.desired_size)
        self.desired_size = 0

    @property
    def is_full(self) -> bool:
        return len(self.data) >= self.capacity

    @property
    def writable_bytes(self) -> int:
        return self.capacity - len(self.data)


class BufferConsumer:
    """The reading side of one segment. Flink: BufferConsumer.

    Rule 5.16: ``is_finished`` uses the position of the last ``build`` (or of the constructor), so it stays False after
    the writer finished until the next ``build``. ``is_data_available`` uses the latest committed position.
    """

    __slots__ = ("_builder", "_buffer", "_position", "_seen", "_seen_finished")

    event: ClassVar[None] = None
    data_type: ClassVar[DataType] = DataType.DATA_BUFFER

    def __init__(self, builder: BufferBuilder, buffer: NetworkBuffer, position: int) -> None:
        self._builder = builder
        self._buffer = buffer
        self._position = position
        self._seen = builder.committed
        self._seen_finished = builder.finished
        if position > self._seen:
            raise IllegalArgument(f"a consumer cannot begin at byte {position}: only {self._seen} are committed")

    def copy(self) -> BufferConsumer:
        """Creates a consumer of the same bytes, at the same position (rule 5.12)."""
        self._buffer.retain()
        return BufferConsumer(self._builder, self._buffer, self._position)

    @property
    def is_finished(self) -> bool:
        return self._seen_finished

    @property
    def is_data_available(self) -> bool:
        return self._builder.committed > self._position

    @property
    def written_bytes(self) -> int:
        """The number of bytes that were committed at the last ``build``, or at construction."""
        return self._seen

    @property
    def unread_bytes(self) -> int:
        """The number of committed bytes that no ``build`` has returned."""
        return self._builder.committed - self._position

    def build(self) -> BufferSlice:
        """Returns the bytes committed since the last ``build`` and retains the segment.

        Raises for a consumer created after the end.
        """
        builder = self._builder
        # Finished counts from this read on only: until then the tail of a queue counts as unfinished (rules 5.16, 5.19).
        self._seen = builder.committed
        self._seen_finished = builder.finished
        position = self._position
        if position < 0:
            misuse = IllegalArgument if position == _FINISHED_EMPTY else OutOfBounds
            raise misuse("this consumer was made when its builder was finished: there is nothing to read")
        payload = bytes(memoryview(builder.data)[position : self._seen])
        self._position = self._seen
        self._buffer.retain()
        return BufferSlice(payload, self._buffer)

    def close(self) -> None:
        """Releases the reader's reference to the segment."""
        self._buffer.recycle()


class EventConsumer:
    """An event in the queue of a subpartition. Flink: the BufferConsumer that EventSerializer makes."""

    __slots__ = ("event", "data_type", "_has_priority")

    is_finished: ClassVar[bool] = True
    is_data_available: ClassVar[bool] = True

    def __init__(self, event: Event, has_priority: bool = False) -> None:
        self.event = event
        self.data_type = data_type_of(event, has_priority)
        self._has_priority = has_priority

    @property
    def unread_bytes(self) -> int:
        """The size of the event, which is read as a whole."""
        return wire_size(self.event)

    def copy(self) -> EventConsumer:
        return self

    def build(self) -> EventBuffer:
        return EventBuffer(self.event, self._has_priority)

    def close(self) -> None:
        """Does nothing: there is no segment."""
