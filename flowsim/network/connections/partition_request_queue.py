"""Readers that share one connection. Flink: PartitionRequestQueue (section 6.C)."""

from __future__ import annotations

from collections import deque
from typing import Protocol

from flowsim.network.connections.view_reader import BufferResponse, CreditBasedSequenceNumberingViewReader
from flowsim.network.outbox import Outbox


class Transport(Protocol):
    """What carries messages from a sender to its receivers. Flink: Channel."""

    @property
    def is_writable(self) -> bool:
        """Whether another buffer may be handed over now."""

    def send(self, reader: CreditBasedSequenceNumberingViewReader, response: BufferResponse) -> None:
        """Takes a buffer to ``reader.receiver``; once it is written, calls ``reader.queue.write_and_flush_next``."""

    def send_backlog(self, reader: CreditBasedSequenceNumberingViewReader, backlog: int) -> None:
        """Takes a backlog announcement to ``reader.receiver`` (rule 6.13)."""


class PartitionRequestQueue:
    """The sender's half of the connection of two tasks. Flink: PartitionRequestQueue.

    Readers with something to send take turns, first in, first out, one buffer each (rule 6.15). The next buffer goes out
    when the one before is written, or when a reader joins an empty queue. While ``outbox``, the sender's, is sealed, nothing
    goes out. Invariant: a reader is in the queue at most once.
    """

    __slots__ = ("_transport", "_outbox", "_readers", "_available", "_writing", "_write_again")

    def __init__(self, transport: Transport, outbox: Outbox) -> None:
        self._transport = transport
        self._outbox = outbox
        self._readers: dict[int, CreditBasedSequenceNumberingViewReader] = {}
        self._available: deque[CreditBasedSequenceNumberingViewReader] = deque()
        self._writing = False
        self._write_again = False

    def notify_reader_created(self, reader: CreditBasedSequenceNumberingViewReader) -> None:
        """From now on messages of the receiver find ``reader`` by its channel."""
        self._readers[reader.channel_id] = reader

    # What the receiver sends.

    def add_credit(self, channel_id: int, credits: int) -> None:
        """Rule 6.9."""
        reader = self._readers[channel_id]
        reader.add_credit(credits)
        self.enqueue_available_reader(reader)

    def resume_consumption(self, channel_id: int) -> None:
        """The receiver goes on behind an event that blocked the channel (rules 5.27, 6.13)."""
        reader = self._readers[channel_id]
        reader.resume_consumption()
        self.enqueue_available_reader(reader)

    def notify_new_buffer_size(self, channel_id: int, size_bytes: int) -> None:
        """The receiver asks for buffers of this size (rule 6.24)."""
        self._readers[channel_id].notify_new_buffer_size(size_bytes)

    # What goes to the receiver.

    def enqueue_available_reader(self, reader: CreditBasedSequenceNumberingViewReader) -> None:
        """Rule 6.16: data, credit or a resume came for ``reader``; sends what can be sent."""
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
        """Sends the next buffer, and those after it as each is written; nothing while the connection takes none."""
        if self._outbox.sealed:
            # A connection that is free again must not take what the running batch has not published yet (D4).
            self._outbox.hold_flush(self)
            return
        self._write_again = True
        if self._writing:
            # A buffer is being handed over right now, and the loop below goes on behind it.
            return
        self._writing = True
        try:
            while self._write_again and self._transport.is_writable:
                self._write_again = False
                self._write_next()
        finally:
            self._writing = False

    def publish(self) -> None:
        """The batch during which the connection became free is over."""
        self.write_and_flush_next()

    def _write_next(self) -> None:
        while self._available:
            reader = self._available.popleft()
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
