"""Reads what a blocking subpartition spilled. Flink: BoundedBlockingSubpartitionReader (rule 5.43)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from flowsim.errors import InvariantViolation
from flowsim.network.buffers.buffer import BufferSlice, EventBuffer, MemorySegment, NetworkBuffer
from flowsim.network.buffers.data_type import DataType
from flowsim.network.partitions.bounded_data import BoundedData
from flowsim.network.partitions.result_subpartition import BufferAndBacklog


class SpilledBuffer(NamedTuple):
    """Where the bytes of one buffer are, or the event that it is."""

    position: int
    length: int
    event: EventBuffer | None


class BoundedBlockingSubpartitionReader:
    """Reads one finished subpartition from its begin to its end. Flink: BoundedBlockingSubpartitionReader."""

    __slots__ = ("_data", "_spilled", "_next", "_backlog", "_on_released", "released")

    def __init__(
        self,
        data: BoundedData,
        spilled: tuple[SpilledBuffer, ...],
        backlog: int,
        on_released: Callable[[BoundedBlockingSubpartitionReader], None],
    ) -> None:
        self._data = data
        self._spilled = spilled
        self._next = 0
        self._backlog = backlog
        self._on_released = on_released
        self.released = False

    def poll(self) -> BufferAndBacklog | None:
        """The next buffer or event; None at the end and after release."""
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
            # Memory of the reader's own, as the file's is not the producer's pool's.
            memory = NetworkBuffer(MemorySegment(length), _nobody_waits)
            buffer = BufferSlice(self._data.read(position, length) if length else b"", memory)
        return BufferAndBacklog(buffer, self._backlog, self._next_type, number, True)

    @property
    def _next_type(self) -> DataType:
        if self.released or self._next == len(self._spilled):
            return DataType.NONE
        event = self._spilled[self._next].event
        return DataType.DATA_BUFFER if event is None else event.data_type

    def is_available(self, has_credit: bool) -> bool:
        """Something is left, without credit an event (rule 5.29)."""
        following = self._next_type
        return following is not DataType.NONE and (has_credit or following.is_event)

    @property
    def reported_backlog(self) -> int:
        """Data buffers not read yet."""
        return self._backlog

    @property
    def queued_buffers(self) -> int:
        """What is in a file is not queued."""
        return 0

    def resume_consumption(self) -> None:
        raise InvariantViolation("no event blocks a blocking subpartition")

    def buffer_size(self, desired_bytes: int) -> None:
        """All buffers are written already."""

    def release(self) -> None:
        """The reader is through, or gone."""
        if not self.released:
            self.released = True
            self._on_released(self)


def _nobody_waits(segment: MemorySegment) -> None:
    """The memory of a read buffer belongs to no pool."""
