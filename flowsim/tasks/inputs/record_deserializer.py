"""From buffers of channels to elements. Flink: RecordDeserializer, SpillingAdaptiveSpanningRecordDeserializer."""

from __future__ import annotations

from collections.abc import Iterator

from flowsim.network.gates.input_channel import InputChannel, Received
from flowsim.streamrecord.codec import Element, ElementDecoder


class RecordDeserializer:
    """Decodes one buffer at a time, of any channel of a task input (rule 7.16). Flink: RecordDeserializer.

    ``elements``: the complete elements of the buffer that are left. The buffer is recycled as soon as its last byte is
    decoded, before the element that it completes is processed; a buffer that ends inside an element by ``end_buffer``.
    The bytes of that element wait in ``tail`` of its channel, so one object serves all channels.
    """

    __slots__ = ("elements", "_decoder", "_channel")

    def __init__(self) -> None:
        self.elements: Iterator[Element] = iter(())
        self._decoder = ElementDecoder()
        self._channel: InputChannel | None = None

    def set_next_buffer(self, channel: InputChannel, received: Received) -> None:
        """The buffer before must be used up."""
        payload = channel.tail + received.payload if channel.tail else received.payload
        channel.tail = b""
        self._channel = channel
        self._decoder.feed(payload, received)
        self.elements = iter(self._decoder)

    @property
    def is_buffer_consumed(self) -> bool:
        """Whether nothing is left of the buffer. Flink: DeserializationResult.isBufferConsumed."""
        return self._decoder.is_consumed

    def end_buffer(self) -> None:
        """All elements were taken: the bytes behind them wait for the next buffer of the channel."""
        if self._channel is not None:
            self._channel.tail = self._decoder.take_tail()

    def clear(self) -> None:
        """The task is going away: what is left of the buffer is dropped."""
        self._decoder.take_tail()
