"""The two sides of one subpartition: where a result partition writes, and what a channel reads. Flink: ResultSubpartition."""

from __future__ import annotations

from typing import Final, NamedTuple, Protocol

from flowsim.network.buffers.buffer import BufferSlice, DataType, EventBuffer
from flowsim.network.buffers.buffer_builder import BufferConsumer, EventConsumer
from flowsim.network.errors import IllegalState
from flowsim.streamrecord.events import Event

Consumer = BufferConsumer | EventConsumer
Buffer = BufferSlice | EventBuffer

UNLIMITED_SIZE: Final = 2**31 - 1
"""Buffers need not be smaller."""

REFUSED: Final = -1
"""Answer of ``add`` after the end."""


class BufferAndBacklog(NamedTuple):
    """One polled buffer. Flink: ResultSubpartition.BufferAndBacklog.

    ``backlog``: data buffers waiting behind it (rule 5.26); ``next_type``: what can be polled next, NONE when nothing can;
    ``whole``: the queued buffer ended with it, else more of the same buffer will follow.
    """

    buffer: Buffer
    backlog: int
    next_type: DataType
    sequence_number: int
    whole: bool


class BufferAvailabilityListener(Protocol):
    """The reader of a subpartition: a local channel, or the sending half of a remote one. Flink: BufferAvailabilityListener."""

    def notify_data_available(self) -> None:
        """Something can be read that could not be read before (rules 5.21, 5.22)."""

    def notify_priority_event(self, sequence_number: int) -> None:
        """An event that overtakes came to the head (rule 5.28)."""


class SubpartitionView(Protocol):
    """What a reader reads: a pipelined subpartition itself, or a reader of spilled data. Flink: ResultSubpartitionView."""

    def poll(self) -> BufferAndBacklog | None:
        """The next bytes or event; None when nothing can be read now."""

    def is_available(self, has_credit: bool) -> bool:
        """Whether something can be sent now; without credit only an event (rule 5.29)."""

    @property
    def reported_backlog(self) -> int:
        """Data buffers that wait, as reported to the receiver (rule 5.26)."""

    @property
    def queued_buffers(self) -> int:
        """Buffers and events that wait."""

    def resume_consumption(self) -> None:
        """Goes on behind an event that blocked (rule 5.27)."""

    def notify_new_buffer_size(self, desired_bytes: int) -> None:
        """The reader asks for buffers of this size (rule 6.24)."""

    def release(self) -> None:
        """Nothing more will be read."""


class ResultSubpartition(Protocol):
    """Where a result partition writes the buffers of one channel. Flink: ResultSubpartition."""

    index: int

    def add(self, consumer: Consumer) -> int:
        """Queues; returns the size for the next buffer, or REFUSED after the end (rule 5.18)."""

    def add_event(self, event: Event, has_priority: bool | None = None) -> int:
        """As ``add``, an event."""

    def finish(self) -> int:
        """EndOfPartition; answers its bytes."""

    def flush(self) -> None:
        """What is written so far may be read (rule 5.22)."""

    def release(self) -> None:
        """Drops everything."""

    @property
    def queued_buffers(self) -> int:
        """Buffers and events in memory that wait for a reader."""

    def create_read_view(self, listener: BufferAvailabilityListener) -> SubpartitionView:
        """What ``listener`` reads; it is notified of data from now on (rule 5.31)."""


class _Unconnected:
    def poll(self) -> BufferAndBacklog | None:
        return None

    def is_available(self, has_credit: bool) -> bool:
        return False

    @property
    def reported_backlog(self) -> int:
        return 0

    @property
    def queued_buffers(self) -> int:
        return 0

    def resume_consumption(self) -> None:
        raise IllegalState("nothing was read yet that could block")

    def notify_new_buffer_size(self, desired_bytes: int) -> None:
        """There is no writer yet."""

    def release(self) -> None:
        """Nothing is held."""


UNCONNECTED: SubpartitionView = _Unconnected()
"""What a reader reads until its producer has something for it: nothing."""
