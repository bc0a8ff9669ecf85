"""The writing and reading interfaces of a subpartition. Flink: ResultSubpartition."""

from __future__ import annotations

from typing import Final, NamedTuple, Protocol

from flowsim.network.buffers.buffer import BufferSlice, DataType, EventBuffer
from flowsim.network.buffers.buffer_builder import BufferConsumer, EventConsumer
from flowsim.network.errors import IllegalState
from flowsim.streamrecord.events import Event

Consumer = BufferConsumer | EventConsumer
Buffer = BufferSlice | EventBuffer

UNLIMITED_SIZE: Final = 2**31 - 1
"""No limit for the buffer size."""

REFUSED: Final = -1
"""Result of ``add`` after the end."""


class BufferAndBacklog(NamedTuple):
    """One polled buffer. Flink: ResultSubpartition.BufferAndBacklog.

    ``backlog``: data buffers after it in the queue (rule 5.26); ``next_type``: what can be polled next, NONE if nothing
    can; ``whole``: whether this is the end of the queued buffer, otherwise more of it follows.
    """

    buffer: Buffer
    backlog: int
    next_type: DataType
    sequence_number: int
    whole: bool


class BufferAvailabilityListener(Protocol):
    """The reader of a subpartition: a local channel, or the sending side of a remote one. Flink:
    BufferAvailabilityListener.
    """

    def notify_data_available(self) -> None:
        """New data can be read (rules 5.21, 5.22)."""

    def notify_priority_event(self, sequence_number: int) -> None:
        """A priority event is at the head (rule 5.28)."""


class SubpartitionView(Protocol):
    """The reading interface: a pipelined subpartition, or a reader of spilled data. Flink: ResultSubpartitionView."""

    def poll(self) -> BufferAndBacklog | None:
        """The next bytes or event; None if nothing can be read now."""

    def is_available(self, has_credit: bool) -> bool:
        """True if a buffer or event can be sent now; without credit only an event (rule 5.29)."""

    @property
    def reported_backlog(self) -> int:
        """Queued data buffers, as reported to the receiver (rule 5.26)."""

    @property
    def queued_buffers(self) -> int:
        """Queued buffers and events."""

    def resume_consumption(self) -> None:
        """Resumes after a blocking event (rule 5.27)."""

    def notify_new_buffer_size(self, desired_bytes: int) -> None:
        """The reader requests buffers of this size (rule 6.24)."""

    def release(self) -> None:
        """Ends reading."""


class ResultSubpartition(Protocol):
    """The writing interface: buffers of one channel. Flink: ResultSubpartition."""

    index: int

    def add(self, consumer: Consumer) -> int:
        """Queues; returns the size for the next buffer, or REFUSED after the end (rule 5.18)."""

    def add_event(self, event: Event, has_priority: bool | None = None) -> int:
        """As ``add``, an event."""

    def finish(self) -> int:
        """Queues EndOfPartition; returns its bytes."""

    def flush(self) -> None:
        """Makes the data written so far readable (rule 5.22)."""

    def release(self) -> None:
        """Drops everything."""

    @property
    def queued_buffers(self) -> int:
        """Buffers and events in memory that are not read yet."""

    def create_read_view(self, listener: BufferAvailabilityListener) -> SubpartitionView:
        """The view for ``listener``, which is notified of data from now on (rule 5.31)."""


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
        """Does nothing: there is no writer yet."""

    def release(self) -> None:
        """Does nothing: there are no resources."""


UNCONNECTED: SubpartitionView = _Unconnected()
"""The empty view of a reader whose producer has no data yet."""
