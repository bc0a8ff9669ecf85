"""Elements as bytes: the wire format, and decoding after any cut."""

from __future__ import annotations

import msgpack
import pytest

from flowsim.errors import ValueNotAllowed
from flowsim.streamrecord.codec import (
    Element,
    ElementDecoder,
    encode_latency_marker_into,
    encode_record_into,
    encode_status_into,
    encode_watermark,
    latency_marker,
)
from flowsim.streamrecord.elements import LatencyMarker, WatermarkStatus
from flowsim.units import MAX_WATERMARK
from flowsim.values.row import Row


def records(count: int) -> bytes:
    buffer = bytearray()
    for i in range(count):
        encode_record_into(buffer, i, ("key", i, 0.5))
    return bytes(buffer)


def test_elements_are_msgpack_arrays_distinguished_by_length() -> None:
    buffer = bytearray()
    encode_record_into(buffer, 5, ("a", 1))
    encode_record_into(buffer, None, [1])
    buffer += encode_watermark(MAX_WATERMARK)
    encode_status_into(buffer, WatermarkStatus.IDLE)
    encode_latency_marker_into(buffer, LatencyMarker(7, 1, 2))
    unpacker = msgpack.Unpacker(use_list=False)
    unpacker.feed(buffer)
    assert list(unpacker) == [
        (5, ("a", 1)),
        (None, msgpack.ExtType(1, b"\x91\x01")),
        (MAX_WATERMARK,),
        (2, -1, 0),
        (3, 7, 1, 2),
    ]


def test_row_is_extension_of_values_and_names() -> None:
    buffer = bytearray()
    encode_record_into(buffer, 0, Row(a=1))
    assert msgpack.unpackb(buffer, use_list=False) == (0, msgpack.ExtType(2, msgpack.packb(((1,), ("a",)))))


def test_elements_are_decoded_in_order() -> None:
    buffer = bytearray()
    buffer += encode_watermark(3)
    encode_record_into(buffer, None, {"k": [Row(1)]})
    encode_latency_marker_into(buffer, LatencyMarker(7, 1, 2))
    decoder = ElementDecoder()
    decoder.feed(buffer)
    watermark, record, marker = decoder
    assert (watermark, record) == ((3,), (None, {"k": [Row(1)]}))
    assert latency_marker(marker) == LatencyMarker(7, 1, 2)
    assert decoder.take_tail() == b""


def test_refused_value_leaves_buffer_unchanged() -> None:
    buffer = bytearray(b"kept")
    for value in (("x" * 5000, "\ud800"), ("x", lambda: 1), [2**63, lambda: 1]):
        with pytest.raises(ValueNotAllowed):
            encode_record_into(buffer, 1, value)
    assert buffer == b"kept"


@pytest.mark.parametrize("cut", [0, 1, 2, 7, 1023, 1024, 1025, 3000, 3001, 3002, 3003])
def test_tail_follows_last_complete_element(cut: int) -> None:
    encoded = records(400)
    decoder = ElementDecoder()
    decoder.feed(encoded[:cut])
    first = list(decoder)
    tail = decoder.take_tail()
    assert encoded[:cut].endswith(tail)
    decoder.feed(tail + encoded[cut:])
    assert first + list(decoder) == [(i, ("key", i, 0.5)) for i in range(400)]
    assert decoder.take_tail() == b""


@pytest.mark.parametrize("taken", [0, 1, 100, 330, 399, 400])
def test_interrupted_iteration_continues(taken: int) -> None:
    decoder = ElementDecoder()
    decoder.feed(records(400))
    elements = iter(decoder)
    begun = [next(elements) for _ in range(taken)]
    assert [t for t, _ in begun] == list(range(taken))
    assert [t for t, _ in decoder] == list(range(taken, 400))
    assert list(decoder) == []


@pytest.mark.parametrize("taken", [0, 1, 100, 330, 399, 400])
def test_tail_taken_during_iteration_has_remaining_elements(taken: int) -> None:
    decoder = ElementDecoder()
    decoder.feed(records(400))
    elements = iter(decoder)
    for _ in range(taken):
        next(elements)
    decoder.feed(decoder.take_tail())
    assert [t for t, _ in decoder] == list(range(taken, 400))


def test_element_longer_than_many_slices_arrives_whole() -> None:
    buffer = bytearray()
    encode_record_into(buffer, 1, "before")
    encode_record_into(buffer, 2, "x" * 10_000)
    encode_record_into(buffer, 3, "behind")
    decoder, tail = ElementDecoder(), b""
    received: list[Element] = []
    for at in range(0, len(buffer), 2000):
        decoder.feed(tail + buffer[at : at + 2000])
        received.extend(decoder)
        tail = decoder.take_tail()
    assert received == [(1, "before"), (2, "x" * 10_000), (3, "behind")]
    assert tail == b""


def test_second_feed_appends_to_remaining_bytes() -> None:
    encoded = records(3)
    decoder = ElementDecoder()
    decoder.feed(encoded[:20])
    assert len(list(decoder)) == 1
    decoder.feed(encoded[20:])
    assert [t for t, _ in decoder] == [1, 2]


def test_empty_decoder_has_no_elements_and_no_tail() -> None:
    decoder = ElementDecoder()
    assert list(decoder) == []
    assert decoder.take_tail() == b""
    decoder.feed(b"")
    assert list(decoder) == []
    assert decoder.take_tail() == b""


class Counted:
    """A buffer that counts how often it was recycled."""

    def __init__(self) -> None:
        self.recycled = 0

    def recycle(self) -> None:
        self.recycled += 1


@pytest.mark.parametrize("count", [1, 3, 400])
def test_buffer_is_recycled_before_the_element_that_ends_with_it(count: int) -> None:
    """Rule 7.16."""
    decoder, buffer = ElementDecoder(), Counted()
    decoder.feed(records(count), buffer)
    seen = [(buffer.recycled, decoder.is_consumed) for _ in decoder]
    assert seen == [(0, False)] * (count - 1) + [(1, True)]
    assert decoder.take_tail() == b""
    assert buffer.recycled == 1


@pytest.mark.parametrize("count", [1, 400])
def test_buffer_ending_inside_element_is_kept_until_tail_is_taken(count: int) -> None:
    decoder, buffer = ElementDecoder(), Counted()
    decoder.feed(records(count) + records(1)[:-1], buffer)
    assert len(list(decoder)) == count
    assert (buffer.recycled, decoder.is_consumed) == (0, False)
    assert decoder.take_tail() == records(1)[:-1]
    assert (buffer.recycled, decoder.is_consumed) == (1, True)


def test_iteration_over_a_decoded_slice_takes_nothing_from_the_next_slice() -> None:
    """Decoders share an unpacker, and a task may decode its next slice before it asks for more of the last."""
    buffer = bytearray()
    for number in range(3):
        encode_record_into(buffer, number, ("key", number))
    whole = bytes(buffer)
    first, second = ElementDecoder(), ElementDecoder()
    first.feed(whole)
    elements = iter(first)
    assert [next(elements) for _ in range(3)] == [(number, ("key", number)) for number in range(3)]
    second.feed(whole[:-1])
    assert list(elements) == []
    assert list(second) == [(number, ("key", number)) for number in range(2)]
    second.feed(whole[-1:])
    assert list(second) == [(2, ("key", 2))]
    first.feed(whole)
    next(iter(first))
    assert first.take_tail() == whole[len(whole) // 3 :]
