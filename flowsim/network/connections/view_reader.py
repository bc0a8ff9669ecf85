"""The sending side of a remote channel. Flink: CreditBasedSequenceNumberingViewReader (rules 6.9 to 6.14)."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from mypy_extensions import mypyc_attr

from flowsim.errors import InvariantViolation
from flowsim.facts.kinds import BufferSide, CreditKind
from flowsim.facts.tracer import TaskTrace
from flowsim.network.buffers.data_type import DataType, buffer_kind
from flowsim.network.partitions.result_subpartition import UNCONNECTED, Buffer, ResultSubpartition, SubpartitionView


class BufferReceiver(Protocol):
    """The receiving side of the channel.

    A Protocol, because connections do not import the gates, whose RemoteInputChannel implements it.
    """

    def on_buffer(self, buffer: Buffer, sequence_number: int, backlog: int) -> None: ...

    def on_sender_backlog(self, backlog: int) -> None: ...


class ReaderQueue(Protocol):
    """The queue of readers with something to send.

    A Protocol, because PartitionRequestQueue, which implements it, owns its readers.
    """

    def enqueue_available_reader(self, reader: CreditBasedSequenceNumberingViewReader) -> None: ...

    def write_and_flush_next(self) -> None: ...


class BufferResponse(NamedTuple):
    """The message for one buffer. Flink: NettyMessage.BufferResponse."""

    buffer: Buffer
    sequence_number: int
    backlog: int
    more_available: bool


@mypyc_attr(allow_interpreted_subclasses=True)
class CreditBasedSequenceNumberingViewReader:
    """Reads one subpartition for one remote channel. Flink: CreditBasedSequenceNumberingViewReader.

    ``registered`` is True while the reader is in the queue of its connection. Invariant I6.b: no data buffer is sent at
    zero credits; events need none (rule 6.11).
    """

    __slots__ = (
        "queue",
        "view",
        "receiver",
        "credits",
        "initial_credit",
        "registered",
        "channel_id",
        "trace",
        "times_out_of_credit",
        "_is_out_of_credit",
    )

    def __init__(
        self,
        queue: ReaderQueue,
        receiver: BufferReceiver,
        initial_credit: int,
        channel_id: int,
        trace: TaskTrace | None,
    ) -> None:
        self.queue = queue
        self.view: SubpartitionView = UNCONNECTED
        """The view of the subpartition; set once the reader has requested a subpartition."""
        self.receiver = receiver
        self.credits = initial_credit
        self.initial_credit = initial_credit
        self.registered = False
        self.times_out_of_credit = 0
        """Number of times that data waited only for a credit."""
        self._is_out_of_credit = False
        self.channel_id = channel_id
        self.trace = trace
        if trace is not None:
            trace.credit(channel_id, CreditKind.INITIAL_GOT, initial_credit, initial_credit)

    def request_subpartition(self, subpartition: ResultSubpartition) -> None:
        """Makes this reader the listener and reader of ``subpartition``. Flink: requestSubpartitionView."""
        self.view = subpartition.create_read_view(self)

    # Calls from the subpartition.

    def notify_data_available(self) -> None:
        """Called when the subpartition has data to read (rules 5.21, 5.22)."""
        self.queue.enqueue_available_reader(self)

    def notify_priority_event(self, sequence_number: int) -> None:
        """Called when a priority event was added.

        The event is polled first, so it needs no separate turn (rule 5.28).
        """
        self.queue.enqueue_available_reader(self)

    def publish(self) -> None:
        """Called when the batch that made data available has ended."""
        self.queue.enqueue_available_reader(self)

    # Messages from the receiver.

    def add_credit(self, credits: int) -> None:
        """Adds credits that the receiver announced (rule 6.9)."""
        self.credits += credits
        self._is_out_of_credit = False
        if self.trace is not None:
            self.trace.credit(self.channel_id, CreditKind.GOT, credits, self.credits)

    def resume_consumption(self) -> None:
        """Resumes after an event that blocked the channel (rules 5.27, 6.13).

        A receiver without exclusive buffers has released its floating ones, so their credits are void.
        """
        if self.initial_credit == 0 and self.credits:
            void, self.credits = self.credits, 0
            if self.trace is not None:
                self.trace.credit(self.channel_id, CreditKind.GOT, -void, 0)
        self.view.resume_consumption()
        if self.trace is not None:
            self.trace.credit(self.channel_id, CreditKind.RESUMED, 0, self.credits)

    def notify_new_buffer_size(self, size_bytes: int) -> None:
        """Sets the buffer size that the receiver requests (rule 6.24)."""
        self.view.notify_new_buffer_size(size_bytes)

    # Calls from the queue.

    @property
    def is_available(self) -> bool:
        """True if a buffer or event can be sent now (rule 6.10)."""
        return self.view.is_available(self.credits > 0)

    def count_missing_credit(self) -> None:
        """Counts a missing credit; called when no further buffer can be sent for now."""
        if self.credits == 0 and not self._is_out_of_credit and self.view.is_available(True):
            self._is_out_of_credit = True
            self.times_out_of_credit += 1

    @property
    def must_announce_backlog(self) -> bool:
        """True if the receiver has reserved no buffer, so the sender must announce the data (rule 6.13)."""
        return self.initial_credit == 0 and self.credits == 0 and self.view.reported_backlog > 0

    def next_buffer(self) -> BufferResponse | None:
        """Polls one buffer and uses one credit for it (rules 6.11, 6.12)."""
        polled = self.view.poll()
        if polled is None:
            return None
        buffer = polled.buffer
        is_data = buffer.event is None
        if is_data:
            self._pay()
        if self.trace is not None:
            kind = buffer_kind(buffer.data_type)
            self.trace.buffer(
                self.channel_id,
                BufferSide.SENT,
                polled.sequence_number,
                kind,
                len(buffer),
                polled.backlog,
                self.credits,
                polled.whole,
            )
        next_type = polled.next_type
        more = next_type.is_event or (self.credits > 0 and next_type is DataType.DATA_BUFFER)
        return BufferResponse(buffer, polled.sequence_number, polled.backlog, more)

    def _pay(self) -> None:
        self.credits -= 1
        if self.credits < 0:
            raise InvariantViolation(f"channel {self.channel_id} sent a data buffer without credit")
