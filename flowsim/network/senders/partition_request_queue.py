"""Readers that share one connection. Flink: PartitionRequestQueue (section 6.C)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Protocol

from flowsim.network.senders.view_reader import BufferResponse, ViewReader


class Transport(Protocol):
    """What carries messages from a sender to its receivers. Flink: Channel."""

    @property
    def is_writable(self) -> bool:
        """Whether another buffer may be handed over now; ``PartitionRequestQueue.on_writable`` is called when it may again."""

    def send(self, reader: ViewReader, response: BufferResponse, on_written: Callable[[], None]) -> None:
        """Takes a buffer to ``reader.receiver``; calls ``on_written`` once when it is on the wire."""

    def send_backlog(self, reader: ViewReader, backlog: int) -> None:
        """Takes a backlog announcement to ``reader.receiver`` (rule 6.13)."""


class ImmediateTransport:
    """A wire without length: everything arrives before ``send`` returns."""

    __slots__ = ()

    is_writable = True

    def send(self, reader: ViewReader, response: BufferResponse, on_written: Callable[[], None]) -> None:
        reader.receiver.on_buffer(response.buffer, response.sequence_number, response.backlog)
        on_written()

    def send_backlog(self, reader: ViewReader, backlog: int) -> None:
        reader.receiver.on_sender_backlog(backlog)


class PartitionRequestQueue:
    """Readers with something to send take turns, first in, first out, one buffer each (rule 6.15).

    Flink: PartitionRequestQueue. The next buffer goes out when the one before is written, or when a reader joins an empty
    queue. Invariant: a reader stands in the queue at most once.
    """

    __slots__ = ("_transport", "_available", "_sending", "_go_on")

    def __init__(self, transport: Transport | None = None) -> None:
        self._transport: Transport = ImmediateTransport() if transport is None else transport
        self._available: deque[ViewReader] = deque()
        self._sending = False
        self._go_on = False

    def notify(self, reader: ViewReader) -> None:
        """Rule 6.16: data, credit or a resume came for ``reader``; sends what can be sent."""
        if reader.registered:
            return
        if not reader.is_available:
            reader.note_lack_of_credit()
            if reader.must_announce_backlog:
                self._transport.send_backlog(reader, reader.subpartition.reported_backlog)
            return
        joins_empty_queue = not self._available
        reader.registered = True
        self._available.append(reader)
        if joins_empty_queue:
            self.on_writable()

    def on_writable(self) -> None:
        """Sends the next buffer, and those after it as each is written; nothing while the connection takes none."""
        self._go_on = True
        if self._sending:
            # A buffer is being handed over right now, and the loop below goes on behind it.
            return
        self._sending = True
        try:
            while self._go_on and self._transport.is_writable:
                self._go_on = False
                self._send_next()
        finally:
            self._sending = False

    def _send_next(self) -> None:
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
                reader.note_lack_of_credit()
            self._transport.send(reader, response, self.on_writable)
            return
