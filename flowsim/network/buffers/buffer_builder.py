"""Filling a segment on one side and reading it on the other. Flink: BufferBuilder, BufferConsumer (rules 5.15-5.17)."""

from __future__ import annotations

from typing import Final

from flowsim.network.buffers.buffer import (
    BufferRecycler,
    BufferSlice,
    DataType,
    EventBuffer,
    MemorySegment,
    NetworkBuffer,
    data_type_of,
)
from flowsim.network.errors import IllegalArgument, IllegalState, OutOfBounds
from flowsim.streamrecord.events import Event

_FINISHED_EMPTY: Final = -(2**31)
"""The writer's position once it finished without a byte: 0 has no negative (rule 5.15)."""


class BufferBuilder:
    """The writing side of one segment. Flink: BufferBuilder.

    ``data`` is the segment's bytearray: its length is the writer's position. The record writer encodes straight into it and
    stores ``committed``; bytes beyond ``capacity`` must be taken off again before anybody reads (``cut_overflow``).
    """

    __slots__ = ("data", "capacity", "committed", "finished", "desired_size", "_buffer", "_consumer_exists")

    def __init__(self, segment: MemorySegment, recycler: BufferRecycler) -> None:
        self._buffer = NetworkBuffer(segment, recycler)
        self.data = segment.data
        self.capacity = segment.size_bytes
        self.committed = 0
        self.finished = False
        self.desired_size = 0
        """The size to trim to once the first record is in, 0 when it is settled (rule 5.17)."""
        self._consumer_exists = False

    def create_consumer(self) -> BufferConsumer:
        """The one consumer of this builder; sees what is written from now on.

        Raises IllegalArgument while bytes are uncommitted. Of a builder that is finished the consumer is good for nothing:
        its ``build`` raises.
        """
        position = len(self.data)
        return self._create_consumer((-position or _FINISHED_EMPTY) if self.finished else position)

    def create_consumer_from_beginning(self) -> BufferConsumer:
        """The one consumer of this builder; sees everything. Raises IllegalState for a second one."""
        return self._create_consumer(0)

    def _create_consumer(self, position: int) -> BufferConsumer:
        if self._consumer_exists:
            raise IllegalState("a buffer builder has one consumer; copy that one")
        self._consumer_exists = True
        self._buffer.retain()
        return BufferConsumer(self, self._buffer, position)

    def append(self, source: bytes | memoryview) -> int:
        """Writes as much as fits, not yet visible; returns how many bytes. Raises IllegalState when finished."""
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
        """Makes what was written visible to the consumer."""
        if not self.finished:
            self.committed = len(self.data)

    def cut_overflow(self) -> bytes:
        """Takes off and returns what was encoded beyond the capacity, and commits the rest."""
        overflow = bytes(self.data[self.capacity :])
        del self.data[self.capacity :]
        self.committed = len(self.data)
        return overflow

    def finish(self) -> int:
        """No more writes; returns the number of bytes written. Harmless when finished already."""
        self.committed = len(self.data)
        self.finished = True
        return self.committed

    def close(self) -> None:
        """The writer lets go of the segment."""
        self._buffer.recycle()

    def trim(self, new_size: int) -> None:
        """Limits the capacity, never below what is written or above the segment (rule 5.17)."""
        self.capacity = min(max(new_size, len(self.data)), self._buffer.segment.size_bytes)

    def trim_after_first_record(self, desired_size: int) -> None:
        """Trims to the greater of ``desired_size`` and the first record, which is about to be encoded (rule 5.17).

        Its size is not known before, so any byte fills the buffer, and ``settle`` decides.
        """
        if desired_size < self._buffer.segment.size_bytes:
            self.desired_size = desired_size
            self.capacity = 0

    def settle(self) -> None:
        """The first record is in."""
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

    Rule 5.16: ``is_finished`` uses the position seen when the consumer was made or last built, so it stays False after the
    writer finished until the consumer builds again; ``is_data_available`` looks at the latest committed position.
    """

    __slots__ = ("_builder", "_buffer", "_position", "_seen", "_seen_finished")

    event: None = None
    data_type = DataType.DATA_BUFFER

    def __init__(self, builder: BufferBuilder, buffer: NetworkBuffer, position: int) -> None:
        self._builder = builder
        self._buffer = buffer
        self._position = position
        self._seen = builder.committed
        self._seen_finished = builder.finished
        if position > self._seen:
            raise IllegalArgument(f"a consumer cannot begin at byte {position}: only {self._seen} are committed")

    def copy(self) -> BufferConsumer:
        """A consumer of the same bytes, at the same position (rule 5.12)."""
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
        """What was committed when this consumer was made or last built."""
        return self._seen

    def build(self) -> BufferSlice:
        """What was committed since the last ``build``; retains the segment. Raises for a consumer made after the end."""
        builder = self._builder
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
        """The reader lets go of the segment."""
        self._buffer.recycle()


class EventConsumer:
    """An event waiting in a subpartition. Flink: the BufferConsumer that EventSerializer makes."""

    __slots__ = ("event", "data_type", "_has_priority")

    is_finished = True
    is_data_available = True

    def __init__(self, event: Event, has_priority: bool = False) -> None:
        self.event = event
        self.data_type = data_type_of(event, has_priority)
        self._has_priority = has_priority

    def copy(self) -> EventConsumer:
        return self

    def build(self) -> EventBuffer:
        return EventBuffer(self.event, self._has_priority)

    def close(self) -> None:
        """Nothing to give back."""
