"""RecordDeserializer: elements that span many buffers, of several channels."""

from __future__ import annotations

from typing import Any

import pytest

from flowsim.network.buffers.buffer import MemorySegment
from flowsim.network.gates.input_channel import InputChannel, ReceivedBuffer
from flowsim.streamrecord.codec import CutElement
from flowsim.tasks.inputs.record_deserializer import RecordDeserializer
from flowsim.values.encoding import encode_record

LONG = CutElement.LONG_BYTES
RECORDS: list[tuple[int, object]] = [
    (1, ("a" * 3 * LONG, 5)), (2, "short"), (3, ["b" * LONG, "c" * LONG]), (4, (7,)), (5, tuple(range(LONG))), (6, "end"),
]  # fmt: skip


class Part:
    """A buffer, and how often it is recycled."""

    def __init__(self, payload: bytes) -> None:
        self.buffer = ReceivedBuffer(payload, MemorySegment(0), self)
        self.recycled = 0

    def recycle(self, segment: MemorySegment) -> None:
        self.recycled += 1


def channel() -> InputChannel:
    nowhere: Any = None
    return InputChannel(nowhere, 0, 0, None)


def parts_of(encoded: bytes, size: int) -> list[Part]:
    return [Part(encoded[start : start + size]) for start in range(0, len(encoded), size)]


def received(deserializer: RecordDeserializer, channel: InputChannel, part: Part) -> list[tuple[object, ...]]:
    """The elements of one buffer; the buffer is recycled at the latest after them."""
    deserializer.set_next_buffer(channel, part.buffer)
    elements = []
    for element in deserializer.elements:
        elements.append(element)
        assert part.recycled == deserializer.is_buffer_consumed
    if not deserializer.is_buffer_consumed or not elements:
        deserializer.end_buffer()
    assert part.recycled == 1
    return elements


@pytest.mark.parametrize("size", [1000, LONG, LONG + 1, 5 * LONG, 10_000_000])
def test_long_elements_of_two_channels_are_decoded_from_interleaved_buffers(size: int) -> None:
    """Rule 7.16."""
    encoded = b"".join(encode_record(timestamp, value) for timestamp, value in RECORDS)
    deserializer, channels = RecordDeserializer(), (channel(), channel())
    found: tuple[list[Any], list[Any]] = ([], [])
    for first, second in zip(parts_of(encoded, size), parts_of(encoded, size), strict=True):
        found[0].extend(received(deserializer, channels[0], first))
        found[1].extend(received(deserializer, channels[1], second))
    assert found == (RECORDS, RECORDS)
    assert (channels[0].tail, channels[1].tail) == (b"", b"")


@pytest.mark.parametrize("more", [0, 1, 40])
def test_buffer_that_completes_a_long_element_is_recycled_at_its_last_byte(more: int) -> None:
    encoded = encode_record(1, "a" * 2 * LONG)
    deserializer, only = RecordDeserializer(), channel()
    for part in parts_of(encoded[:-10], LONG + 100):
        assert received(deserializer, only, part) == []
    assert isinstance(only.tail, CutElement)
    last = Part(encoded[-10:] + encode_record(2, "b" * 50)[:more])
    assert received(deserializer, only, last) == [(1, "a" * 2 * LONG)]
    assert only.tail == encode_record(2, "b" * 50)[:more]


def test_released_channel_drops_the_beginning_of_its_element() -> None:
    deserializer, only = RecordDeserializer(), channel()
    received(deserializer, only, Part(encode_record(1, "a" * 2 * LONG)[:-1]))
    only.release()
    assert only.tail == b""
