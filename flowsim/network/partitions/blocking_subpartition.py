"""A subpartition that is stored in a file, the file, and the readers.

Flink: BoundedBlockingSubpartition (rule 5.43).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from flowsim.errors import InvariantViolation
from flowsim.facts.kinds import BufferKind, BufferSide
from flowsim.facts.tracer import TaskTrace
from flowsim.network.buffers.buffer import FREEING, BufferSlice, EventBuffer, MemorySegment, NetworkBuffer, wire_size
from flowsim.network.buffers.buffer_builder import EventConsumer
from flowsim.network.buffers.data_type import DataType
from flowsim.network.errors import IllegalState
from flowsim.network.partitions.result_subpartition import (
    REFUSED,
    UNLIMITED_SIZE,
    BufferAndBacklog,
    BufferAvailabilityListener,
    Consumer,
)
from flowsim.streamrecord.events import EndOfPartitionEvent, Event

_HEADER_BYTES: Final = 8
"""Of a buffer in Flink's file. Flink: BufferReaderWriterUtil.HEADER_LENGTH."""


class BoundedData:
    """A file that is written sequentially and read at any position, until it is closed. Flink: FileChannelBoundedData.

    The first byte creates the file and ``close`` removes it. One file holds all subpartitions of a partition, so that
    wide shuffles do not exhaust open files.
    """

    __slots__ = ("path", "size_bytes", "_descriptor", "_closed")

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size_bytes = 0
        self._descriptor: int | None = None
        self._closed = False

    def write(self, payload: bytes) -> int:
        """Appends bytes and returns the position of the first byte.

        Raises IllegalState after ``close``, OSError if the disk is full.
        """
        if self._closed:
            raise IllegalState(f"{self.path.name} is closed")
        if self._descriptor is None:
            self._descriptor = os.open(
                self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_BINARY", 0), 0o600
            )
        position, rest = self.size_bytes, memoryview(payload)
        while rest:
            written = os.write(self._descriptor, rest)
            self.size_bytes += written
            rest = rest[written:]
        return position

    def read(self, position: int, length: int) -> bytes:
        """Returns the bytes that ``write`` stored at ``position``. Raises IllegalState after ``close``."""
        if self._descriptor is None:
            raise IllegalState(f"{self.path.name} is closed or empty")
        payload = b""
        while len(payload) < length:
            piece = os.pread(self._descriptor, length - len(payload), position + len(payload))
            if not piece:
                raise IllegalState(f"{self.path.name} ends before byte {position + length}")
            payload += piece
        return payload

    def close(self) -> None:
        """Removes the file; no effect if it is closed."""
        self._closed = True
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
            self.path.unlink(missing_ok=True)


class SpillingPartition(Protocol):
    """The partition of a blocking subpartition.

    A Protocol, because BlockingResultPartition, which implements it, creates its subpartitions.
    """

    def on_subpartition_unused(self) -> None:
        """Called when a subpartition is released and has no reader."""


class BoundedBlockingSubpartition:
    """Writes each buffer to the file when the next buffer arrives.

    Once finished, the subpartition can be read by any number of readers.

    Flink: BoundedBlockingSubpartition. Only the buffer being filled is in memory. Buffer boundaries and the positions
    of events are preserved.
    """

    __slots__ = (
        "index",
        "finished",
        "released",
        "data_buffers",
        "_data",
        "_spilled",
        "_current",
        "_readers",
        "_trace",
        "_channel_id",
        "_partition",
    )

    def __init__(
        self,
        index: int,
        data: BoundedData,
        partition: SpillingPartition,
        trace: TaskTrace | None = None,
        channel_id: int = -1,
    ) -> None:
        self.index = index
        self.finished = False
        self.released = False
        self.data_buffers = 0
        """Number of data buffers in the file, which is the initial backlog of a reader."""
        self._data = data
        self._partition = partition
        self._spilled: list[SpilledBuffer] = []
        self._current: Consumer | None = None
        self._readers: list[BoundedBlockingSubpartitionReader] = []
        self._trace = trace
        self._channel_id = channel_id

    def add(self, consumer: Consumer) -> int:
        """Accepts the buffer and spills the previous one; REFUSED after the end. No reader requests a size."""
        if self.finished:
            consumer.close()
            return REFUSED
        self.flush()
        self._current = consumer
        return UNLIMITED_SIZE

    def add_event(self, event: Event, has_priority: bool | None = None) -> int:
        """Accepts an event as ``add`` accepts a buffer; priority has no effect."""
        return self.add(EventConsumer(event, bool(has_priority)))

    def flush(self) -> None:
        """Writes the buffer in memory to the file, full or not."""
        if self._current is not None:
            consumer, self._current = self._current, None
            self._spill(consumer)

    def finish(self) -> int:
        """Writes EndOfPartition as the last event; from then on the subpartition can be read.

        Raises IllegalState the second time.
        """
        if self.released or self.finished:
            raise IllegalState(f"subpartition {self.index} is finished or released already")
        self.finished = True
        self.flush()
        self._spill(EventConsumer(EndOfPartitionEvent()))
        return wire_size(EndOfPartitionEvent())

    def create_read_view(self, listener: BufferAvailabilityListener) -> BoundedBlockingSubpartitionReader:
        """Creates a reader that starts at the first buffer (rule 5.43).

        Raises IllegalState before the end or after release.

        All data is present: ``listener`` is not notified, and must call ``is_available`` itself.
        """
        if self.released or not self.finished:
            raise IllegalState(f"subpartition {self.index} can be read when it is finished and until it is released")
        reader = BoundedBlockingSubpartitionReader(self, self._data, tuple(self._spilled), self.data_buffers)
        self._readers.append(reader)
        return reader

    def release(self) -> None:
        """Drops the buffer in memory; the subpartition no longer needs the file when its last reader has finished."""
        if self.released:
            return
        self.released = self.finished = True
        if self._current is not None:
            self._current.close()
            self._current = None
        self._check_unused()

    def release_reader(self, reader: BoundedBlockingSubpartitionReader) -> None:
        """Called when ``reader`` has finished or was released."""
        if reader in self._readers:
            self._readers.remove(reader)
            self._check_unused()

    @property
    def is_unused(self) -> bool:
        return self.released and not self._readers

    @property
    def queued_buffers(self) -> int:
        """Always 0: buffers in a file are not queued."""
        return 0

    @property
    def bytes_in_queue(self) -> int:
        """The bytes in memory minus the header of each buffer in the file, which Flink subtracts, too (rule 2.4)."""
        in_memory = 0 if self._current is None else self._current.unread_bytes
        return in_memory - _HEADER_BYTES * len(self._spilled)

    def _check_unused(self) -> None:
        if self.is_unused:
            self._partition.on_subpartition_unused()

    def _spill(self, consumer: Consumer) -> None:
        piece = consumer.build()
        if isinstance(piece, EventBuffer):
            self._spilled.append(SpilledBuffer(0, 0, piece))
        else:
            self._spilled.append(SpilledBuffer(self._data.write(piece.payload), len(piece), None))
            self.data_buffers += 1
        if self._trace is not None:
            kind = BufferKind.DATA if piece.event is None else BufferKind.EVENT
            number = len(self._spilled) - 1
            self._trace.buffer(self._channel_id, BufferSide.QUEUED, number, kind, -1, self.data_buffers, -1)
        piece.recycle()
        consumer.close()


class SpilledBuffer(NamedTuple):
    """The position of one buffer's bytes in the file, or an event."""

    position: int
    length: int
    event: EventBuffer | None


class BoundedBlockingSubpartitionReader:
    """Reads one finished subpartition from beginning to end. Flink: BoundedBlockingSubpartitionReader."""

    __slots__ = ("_parent", "_data", "_spilled", "_next", "_backlog", "released")

    def __init__(
        self,
        parent: BoundedBlockingSubpartition,
        data: BoundedData,
        spilled: tuple[SpilledBuffer, ...],
        backlog: int,
    ) -> None:
        self._parent = parent
        self._data = data
        self._spilled = spilled
        self._next = 0
        self._backlog = backlog
        self.released = False

    def poll(self) -> BufferAndBacklog | None:
        """Returns the next buffer or event; None at the end and after release."""
        if self.released or self._next == len(self._spilled):
            return None
        number = self._next
        position, length, event = self._spilled[number]
        self._next += 1
        buffer: BufferSlice | EventBuffer
        if event is not None:
            buffer = event
        else:
            self._backlog -= 1
            # The reader's own memory; it does not use the producer's pool.
            memory = NetworkBuffer(MemorySegment(length), FREEING)
            buffer = BufferSlice(self._data.read(position, length) if length else b"", memory)
        return BufferAndBacklog(buffer, self._backlog, self._next_type, number, True)

    @property
    def _next_type(self) -> DataType:
        if self.released or self._next == len(self._spilled):
            return DataType.NONE
        event = self._spilled[self._next].event
        return DataType.DATA_BUFFER if event is None else event.data_type

    def is_available(self, has_credit: bool) -> bool:
        """Returns True if buffers or events are left.

        Without credit only an event counts (rule 5.29).
        """
        following = self._next_type
        return following is not DataType.NONE and (has_credit or following.is_event)

    @property
    def reported_backlog(self) -> int:
        """The number of data buffers that were not read yet."""
        return self._backlog

    @property
    def queued_buffers(self) -> int:
        """Always 0: buffers in a file are not queued."""
        return 0

    @property
    def awaits_acknowledgement(self) -> bool:
        return False

    def acknowledge_all_data_processed(self) -> None:
        """Does nothing: the writer has ended before."""

    def resume_consumption(self) -> None:
        raise InvariantViolation("no event blocks a blocking subpartition")

    def notify_new_buffer_size(self, desired_bytes: int) -> None:
        """Does nothing: all buffers are already written."""

    def release(self) -> None:
        """Called when the reader has finished or is released."""
        if not self.released:
            self.released = True
            self._parent.release_reader(self)
