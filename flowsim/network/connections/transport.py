"""Transport of buffers from a sender to its receivers: immediate, or over a wire (rule 6.15)."""

from __future__ import annotations

from flowsim.network.buffers.buffer import FREEING, BufferSlice, EventBuffer, MemorySegment, NetworkBuffer
from flowsim.network.connections.view_reader import BufferResponse, CreditBasedSequenceNumberingViewReader
from flowsim.network.connections.wire import Message, Wire
from flowsim.streamrecord.events import EndOfData, EndOfPartitionEvent


class ImmediateTransport:
    """Transport without delay: everything arrives before ``send`` returns."""

    __slots__ = ()

    is_writable = True

    def send(self, reader: CreditBasedSequenceNumberingViewReader, response: BufferResponse) -> None:
        reader.receiver.on_buffer(response.buffer, response.sequence_number, response.backlog)
        reader.queue.write_and_flush_next()

    def send_backlog(self, reader: CreditBasedSequenceNumberingViewReader, backlog: int) -> None:
        reader.receiver.on_sender_backlog(backlog)


class TimedTransport:
    """Sends buffers over ``wire``.

    The sender's memory is free when the buffers are written; the receiver gets them later.
    """

    __slots__ = ("_wire",)

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    @property
    def is_writable(self) -> bool:
        return not self._wire.is_busy

    def send(self, reader: CreditBasedSequenceNumberingViewReader, response: BufferResponse) -> None:
        self._wire.send(BufferInFlight(reader, response))

    def send_backlog(self, reader: CreditBasedSequenceNumberingViewReader, backlog: int) -> None:
        self._wire.send(BacklogAnnouncement(reader, backlog))


class BufferInFlight(Message):
    """A buffer in flight; it uses the sender's memory until it is written."""

    __slots__ = ("size_bytes", "is_end", "_reader", "_response", "_in_sender", "_travelling")

    occupies_wire = True

    def __init__(self, reader: CreditBasedSequenceNumberingViewReader, response: BufferResponse) -> None:
        buffer = response.buffer
        self.size_bytes = len(buffer)
        self.is_end = isinstance(buffer, EventBuffer) and isinstance(buffer.event, EndOfData | EndOfPartitionEvent)
        self._reader = reader
        self._response = response
        self._in_sender: BufferSlice | EventBuffer | None = buffer
        self._travelling: BufferSlice | EventBuffer = buffer
        if isinstance(buffer, BufferSlice):
            # Bytes in flight belong to no pool.
            self._travelling = BufferSlice(buffer.payload, NetworkBuffer(MemorySegment(len(buffer)), FREEING))

    def on_written(self) -> None:
        self.drop()
        self._reader.queue.write_and_flush_next()

    def arrive(self) -> None:
        self._reader.receiver.on_buffer(self._travelling, self._response.sequence_number, self._response.backlog)

    def drop(self) -> None:
        """Recycles the sender's segment, once: when the buffer is written, or when it is dropped before."""
        buffer, self._in_sender = self._in_sender, None
        if buffer is not None:
            buffer.recycle()


class BacklogAnnouncement(Message):
    """Announces the backlog of a channel (rule 6.13). Flink: NettyMessage.BacklogAnnouncement."""

    __slots__ = ("_reader", "_backlog")

    def __init__(self, reader: CreditBasedSequenceNumberingViewReader, backlog: int) -> None:
        self._reader = reader
        self._backlog = backlog

    def arrive(self) -> None:
        self._reader.receiver.on_sender_backlog(self._backlog)
