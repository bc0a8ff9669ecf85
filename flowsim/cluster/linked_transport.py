"""Carries buffers over a link: the sender's memory is free once they are written, the receiver gets them later."""

from __future__ import annotations

from collections.abc import Callable

from flowsim.cluster.links import InFlight, LinkedConnection
from flowsim.network.buffers.buffer import BufferSlice, EventBuffer, MemorySegment, NetworkBuffer
from flowsim.network.senders.view_reader import BufferResponse, ViewReader


class LinkedTransport:
    """A connection with latency and bandwidth, as ``PartitionRequestQueue`` writes to it (rule 6.15).

    ``hold`` runs what it is given when the sender's running batch is published, at once when none runs: a wire that is free
    again may not take what the batch has not published yet (D4).
    """

    __slots__ = ("_connection", "_hold")

    def __init__(self, connection: LinkedConnection, hold: Callable[[Callable[[], None]], None]) -> None:
        self._connection = connection
        self._hold = hold

    @property
    def is_writable(self) -> bool:
        return not self._connection.forward.is_busy

    def send(self, reader: ViewReader, response: BufferResponse, on_written: Callable[[], None]) -> None:
        receiver, sent = reader.receiver, _SentBuffer(response.buffer)
        message = InFlight(
            len(response.buffer),
            lambda: receiver.on_buffer(sent.travelling, response.sequence_number, response.backlog),
            sent.leave_sender,
        )

        def written() -> None:
            sent.leave_sender()
            self._hold(on_written)

        self._connection.forward.send(message, written)

    def send_backlog(self, reader: ViewReader, backlog: int) -> None:
        receiver = reader.receiver
        self._connection.forward.send(InFlight(0, lambda: receiver.on_sender_backlog(backlog), _nothing))

    def send_back(self, message: Callable[[], None]) -> None:
        """Takes a credit, a resume or a new buffer size to the sender."""
        self._connection.backward.send(InFlight(0, message, _nothing))


class _SentBuffer:
    """A buffer that still occupies the sender's memory, and the bytes of it that travel."""

    __slots__ = ("travelling", "_sender")

    def __init__(self, buffer: BufferSlice | EventBuffer) -> None:
        self._sender: BufferSlice | EventBuffer | None = buffer
        self.travelling: BufferSlice | EventBuffer = buffer
        if isinstance(buffer, BufferSlice):
            self.travelling = BufferSlice(buffer.payload, NetworkBuffer(MemorySegment(len(buffer)), _no_memory))

    def leave_sender(self) -> None:
        """Written, or dropped before that: the sender's segment goes back, once."""
        buffer, self._sender = self._sender, None
        if buffer is not None:
            buffer.recycle()


def _no_memory(segment: MemorySegment) -> None:
    """Bytes on a wire are in nobody's pool."""


def _nothing() -> None:
    """Messages without memory."""
