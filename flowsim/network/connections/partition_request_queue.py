"""The readers that share one connection. Flink: PartitionRequestQueue (section 6.C)."""

from __future__ import annotations

from typing import Protocol

from mypy_extensions import mypyc_attr

from flowsim.network.connections.view_reader import BufferResponse, CreditBasedSequenceNumberingViewReader
from flowsim.network.outbox import Outbox


class Transport(Protocol):
    """Transports messages from a sender to its receivers. Flink: Channel."""

    @property
    def is_writable(self) -> bool:
        """True if another buffer may be sent now."""

    def send(self, reader: CreditBasedSequenceNumberingViewReader, response: BufferResponse) -> None:
        """Sends a buffer to ``reader.receiver``; calls ``reader.queue.write_and_flush_next`` when it is written."""

    def send_backlog(self, reader: CreditBasedSequenceNumberingViewReader, backlog: int) -> None:
        """Sends a backlog announcement to ``reader.receiver`` (rule 6.13)."""


@mypyc_attr(allow_interpreted_subclasses=True)
class PartitionRequestQueue:
    """The sender's side of the connection of two tasks. Flink: PartitionRequestQueue.

    Readers with something to send take turns, first in, first out, one buffer each (rule 6.15). The next buffer is sent
    when the previous one is written, or when a reader joins an empty queue. Nothing is sent while the sender's
    ``outbox`` is sealed. Invariant: a reader is in the queue at most once.
    """

    __slots__ = ("_transport", "_outbox", "_readers", "_available", "_writing", "_write_again")

    def __init__(self, transport: Transport, outbox: Outbox) -> None:
        self._transport = transport
        self._outbox = outbox
        self._readers: dict[int, CreditBasedSequenceNumberingViewReader] = {}
        self._available: list[CreditBasedSequenceNumberingViewReader] = []
        """At most one per channel of the connection; an empty deque would take ten times the memory of a list."""
        self._writing = False
        self._write_again = False

    def notify_reader_created(self, reader: CreditBasedSequenceNumberingViewReader) -> None:
        """Registers ``reader`` by its channel, for messages of the receiver."""
        self._readers[reader.channel_id] = reader

    # Messages from the receiver.

    def add_credit(self, channel_id: int, credits: int) -> None:
        """Adds credits that the receiver announced, and sends what can be sent (rule 6.9)."""
        reader = self._readers[channel_id]
        reader.add_credit(credits)
        self.enqueue_available_reader(reader)

    def resume_consumption(self, channel_id: int) -> None:
        """Called when the receiver resumes after an event that blocked the channel (rules 5.27, 6.13)."""
        reader = self._readers[channel_id]
        reader.resume_consumption()
        self.enqueue_available_reader(reader)

    def awaits_acknowledgement(self, channel_id: int) -> bool:
        """Returns True if the sender waits until all records of the channel are processed."""
        return self._readers[channel_id].view.awaits_acknowledgement

    def acknowledge_all_records_processed(self, channel_id: int) -> None:
        """Called when the receiver has processed all records up to EndOfData (rule 7.12)."""
        self._readers[channel_id].view.acknowledge_all_data_processed()

    def notify_new_buffer_size(self, channel_id: int, size_bytes: int) -> None:
        """Called when the receiver requests buffers of this size in bytes (rule 6.24).

        The gate computes a size from some of its channels, and sends it to all, also before their requests.
        """
        reader = self._readers.get(channel_id)
        if reader is not None:
            reader.notify_new_buffer_size(size_bytes)

    # Messages to the receiver.

    def enqueue_available_reader(self, reader: CreditBasedSequenceNumberingViewReader) -> None:
        """Enqueues ``reader`` after data, credit or a resume arrived for it; sends what can be sent (rule 6.16)."""
        if self._outbox.sealed:
            self._outbox.hold_reader(reader)
            return
        if reader.registered:
            return
        if not reader.is_available:
            reader.count_missing_credit()
            if reader.must_announce_backlog:
                self._transport.send_backlog(reader, reader.view.reported_backlog)
            return
        joins_empty_queue = not self._available
        reader.registered = True
        self._available.append(reader)
        if joins_empty_queue:
            self.write_and_flush_next()

    def write_and_flush_next(self) -> None:
        """Sends the next buffer, and each later buffer when the previous one is written.

        Stops while the connection is not writable.
        """
        if self._outbox.sealed:
            # A writable connection must not send what the running batch has not published yet (D4).
            self._outbox.hold_flush(self)
            return
        self._write_again = True
        if self._writing:
            # A buffer is being sent right now; the loop below continues after it.
            return
        self._writing = True
        try:
            while self._write_again and self._transport.is_writable:
                self._write_again = False
                self._write_next()
        finally:
            self._writing = False

    def publish(self) -> None:
        """Sends the next buffer after the end of the batch in which the connection became writable."""
        self.write_and_flush_next()

    def _write_next(self) -> None:
        while self._available:
            reader = self._available.pop(0)
            reader.registered = False
            response = reader.next_buffer()
            if response is None:
                continue
            if response.more_available:
                reader.registered = True
                self._available.append(reader)
            else:
                reader.count_missing_credit()
            self._transport.send(reader, response)
            return
