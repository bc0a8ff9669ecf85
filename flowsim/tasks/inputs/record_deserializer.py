"""Decodes elements from buffers of channels. Flink: RecordDeserializer, SpillingAdaptiveSpanningRecordDeserializer."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Protocol

from mypy_extensions import mypyc_attr

from flowsim.network.gates.input_channel import Received
from flowsim.streamrecord.codec import CutElement, Element, ElementDecoder


class DecodedChannel(Protocol):
    """A channel whose buffers are decoded."""

    tail: bytes | CutElement
    """The beginning of an element that continues in the next buffer."""


@mypyc_attr(allow_interpreted_subclasses=True)
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
        self._channel: DecodedChannel | None = None

    def set_next_buffer(self, channel: DecodedChannel, received: Received) -> None:
        """Sets the buffer to decode; the previous buffer must be consumed."""
        tail, channel.tail = channel.tail, b""
        self._channel = channel
        if isinstance(tail, CutElement):
            self._continue(tail, channel, received)
            return
        self._decoder.feed(tail + received.payload if tail else received.payload, received)
        self.elements = iter(self._decoder)

    def _continue(self, cut: CutElement, channel: DecodedChannel, received: Received) -> None:
        """Adds a buffer to a long element."""
        payload = received.payload
        completed = cut.complete(payload)
        if completed is None:
            received.recycle()
            channel.tail, self._channel = cut, None
            self.elements = iter(())
            return
        element, end = completed
        if end == len(payload):
            received.recycle()
            self.elements = iter((element,))
        else:
            self._decoder.feed(payload[end:], received)
            self.elements = chain((element,), self._decoder)

    @property
    def is_buffer_consumed(self) -> bool:
        """True if the buffer is consumed. Flink: DeserializationResult.isBufferConsumed."""
        return self._decoder.is_consumed

    def end_buffer(self) -> None:
        """Stores the bytes after the last complete element for the next buffer of the channel."""
        if self._channel is not None:
            tail = self._decoder.take_tail()
            self._channel.tail = tail if len(tail) <= CutElement.LONG_BYTES else CutElement(tail)

    def unconsumed(self, channel: DecodedChannel) -> bytes:
        """Returns the bytes of a channel that no emitted element has (rule 12.83). Flink: getUnconsumedBuffer."""
        tail = channel.tail
        kept = tail.unconsumed if isinstance(tail, CutElement) else tail
        return kept + self._decoder.unconsumed if channel is self._channel else kept

    def clear(self) -> None:
        """Drops the rest of the buffer at the end of the task."""
        self._decoder.take_tail()
