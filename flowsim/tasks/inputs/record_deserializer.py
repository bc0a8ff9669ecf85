"""Decodes elements from buffers of channels. Flink: RecordDeserializer, SpillingAdaptiveSpanningRecordDeserializer."""

from __future__ import annotations

from collections.abc import Iterator

from flowsim.network.gates.input_channel import InputChannel, Received
from flowsim.streamrecord.codec import Element, ElementDecoder


class RecordDeserializer:
    """Decodes one buffer at a time, of any channel of a task input (rule 7.16). Flink: RecordDeserializer.

    ``elements``: the remaining complete elements of the buffer. The buffer is recycled when its last byte is decoded,
    before the completed element is processed. A buffer that ends inside an element is recycled by ``end_buffer``: the
    bytes of that element are kept in ``tail`` of the channel, so one deserializer serves all channels.
    """

    __slots__ = ("elements", "_decoder", "_channel")

    def __init__(self) -> None:
        self.elements: Iterator[Element] = iter(())
        self._decoder = ElementDecoder()
        self._channel: InputChannel | None = None

    def set_next_buffer(self, channel: InputChannel, received: Received) -> None:
        """The previous buffer must be consumed."""
        payload = channel.tail + received.payload if channel.tail else received.payload
        channel.tail = b""
        self._channel = channel
        self._decoder.feed(payload, received)
        self.elements = iter(self._decoder)

    @property
    def is_buffer_consumed(self) -> bool:
        """True if the buffer is consumed. Flink: DeserializationResult.isBufferConsumed."""
        return self._decoder.is_consumed

    def end_buffer(self) -> None:
        """All elements were emitted: keeps the remaining bytes for the next buffer of the channel."""
        if self._channel is not None:
            self._channel.tail = self._decoder.take_tail()

    def clear(self) -> None:
        """The task is ending: drops the rest of the buffer."""
        self._decoder.take_tail()
