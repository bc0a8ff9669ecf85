"""The writing and reading interfaces of a subpartition. Flink: ResultSubpartition."""

from __future__ import annotations

from typing import Final, NamedTuple, Protocol

from flowsim.network.buffers.buffer import BufferSlice, EventBuffer
from flowsim.network.buffers.buffer_builder import BufferConsumer, EventConsumer
from flowsim.network.buffers.data_type import DataType
from flowsim.network.errors import IllegalState
from flowsim.streamrecord.events import Event

Consumer = BufferConsumer | EventConsumer
Buffer = BufferSlice | EventBuffer

UNLIMITED_SIZE: Final = 2**31 - 1
"""The value of a buffer size without a limit."""

REFUSED: Final = -1
"""The result of ``add`` after the end of the subpartition."""


class BufferAndBacklog(NamedTuple):
    """One polled buffer. Flink: ResultSubpartition.BufferAndBacklog.

    ``backlog``: data buffers after it in the queue (rule 5.26); ``next_type``: the type of what can be polled next;
    NONE if nothing can be polled. ``whole``: True if these bytes end the queued buffer; False if more of its bytes
    follow.
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
        """Called when new data can be read (rules 5.21, 5.22)."""

    def notify_priority_event(self, sequence_number: int) -> None:
        """Called when a priority event is at the head (rule 5.28)."""


class SubpartitionView(Protocol):
    """The reading interface: a pipelined subpartition, or a reader of spilled data. Flink: ResultSubpartitionView."""

    def poll(self) -> BufferAndBacklog | None:
        """Returns the next bytes or event; None if nothing can be read now."""

    def is_available(self, has_credit: bool) -> bool:
        """True if a buffer or event can be sent now; without credit only an event can be sent (rule 5.29)."""

    @property
    def reported_backlog(self) -> int:
        """Number of queued data buffers, as reported to the receiver (rule 5.26)."""

    @property
    def queued_buffers(self) -> int:
        """Number of queued buffers and events."""

    def resume_consumption(self) -> None:
        """Resumes after a blocking event (rule 5.27)."""

    @property
    def awaits_acknowledgement(self) -> bool:
        """True if the writer wants to know when all records are processed."""

    def acknowledge_all_data_processed(self) -> None:
        """Called when the reader's task has processed all records up to EndOfData (rule 7.12)."""

    def notify_new_buffer_size(self, desired_bytes: int) -> None:
        """Called when the reader requests buffers of this size in bytes (rule 6.24)."""

    def release(self) -> None:
        """Ends the reading."""


class ResultSubpartition(Protocol):
    """The writing interface: buffers of one channel. Flink: ResultSubpartition."""

    index: int

    def add(self, consumer: Consumer) -> int:
        """Queues a buffer; returns the size for the next buffer, or REFUSED after the end (rule 5.18)."""

    def add_event(self, event: Event, has_priority: bool | None = None) -> int:
        """Queues an event; result as for ``add``."""

    def finish(self) -> int:
        """Queues EndOfPartition; returns the size of that event in bytes."""

    def flush(self) -> None:
        """Makes the data written so far readable (rule 5.22)."""

    def release(self) -> None:
        """Drops all queued buffers."""

    @property
    def queued_buffers(self) -> int:
        """Number of buffers and events in memory that were not read yet."""

    @property
    def bytes_in_queue(self) -> int:
        """Number of bytes written, events included, minus those that left. Flink: getBytesInQueueUnsafe (rule 2.4)."""

    def create_read_view(self, listener: BufferAvailabilityListener) -> SubpartitionView:
        """Returns a view for ``listener``, which is notified of data from now on (rule 5.31)."""


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

    @property
    def awaits_acknowledgement(self) -> bool:
        return False

    def acknowledge_all_data_processed(self) -> None:
        raise IllegalState("nothing was read yet that could be acknowledged")

    def notify_new_buffer_size(self, desired_bytes: int) -> None:
        """Does nothing: there is no writer yet."""

    def release(self) -> None:
        """Does nothing: there are no resources."""


UNCONNECTED: SubpartitionView = _Unconnected()
"""The empty view of a reader whose producer has no data yet."""
