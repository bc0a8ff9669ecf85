"""Record values are decoded exactly; keys are equal exactly when Java's are; channels are independent."""

from __future__ import annotations

import math
import struct
from collections import OrderedDict
from datetime import date
from decimal import Decimal
from threading import Lock
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

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
from flowsim.values.closed_set import check, checked_copy, copy_value
from flowsim.values.encoding import (
    decode_value,
    encode_into,
    encode_record,
    encode_value,
    encode_values,
    fingerprint,
    fingerprint_frame,
)
from flowsim.values.java_hash_code import java_hash
from flowsim.values.keys import infer_type, key_fingerprint, key_json, state_key
from flowsim.values.row import Row
from flowsim.values.types import parse_type

INT64 = st.integers(-(2**63), 2**63 - 1)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
SCALARS = st.none() | st.booleans() | INT64 | st.floats() | TEXT | st.binary(max_size=8)
DICT_KEYS = st.recursive(SCALARS, lambda keys: st.lists(keys, max_size=3).map(tuple), max_leaves=4)
NAMES = st.lists(TEXT, unique=True, max_size=4)


def named_rows(values: st.SearchStrategy[object]) -> st.SearchStrategy[Row]:
    return NAMES.flatmap(
        lambda names: st.lists(values, min_size=len(names), max_size=len(names)).map(lambda v: Row.of(v, names or None))
    )


def containers(values: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    lists = st.lists(values, max_size=5)
    return (
        lists
        | lists.map(tuple)
        | lists.map(lambda v: Row(*v))
        | named_rows(values)
        | st.dictionaries(DICT_KEYS, values)
    )


VALUES = st.recursive(SCALARS, containers, max_leaves=20)
KEYS = st.recursive(SCALARS, lambda keys: st.lists(keys, max_size=3).map(tuple) | st.lists(keys).map(lambda v: Row(*v)))
TIMESTAMPS = st.none() | INT64


def exact(value: object) -> object:
    """A value as nested tuples of type and content, in which == means the same to the last bit."""
    match value:
        case float():
            return "float", struct.pack(">d", value)
        case tuple() | list():
            return type(value).__name__, tuple(map(exact, value))
        case Row():
            return "Row", value.field_names, tuple(map(exact, value))
        case dict():
            return "dict", tuple((exact(key), exact(item)) for key, item in value.items())
        case _:
            return type(value).__name__, value


@given(VALUES)
def test_value_is_decoded_with_exact_type_and_content(value: object) -> None:
    check(value)
    assert exact(decode_value(encode_value(value))) == exact(value)
    assert encode_values([value, 1, value]) == [encode_value(value), encode_value(1), encode_value(value)]
    assert exact(copy_value(value)) == exact(value)
    copy = checked_copy(value)
    assert exact(copy) == exact(value)
    assert (copy is value) == (copy_value(value) is value)


@given(TIMESTAMPS, VALUES)
def test_receiver_computes_fingerprint_of_sender(timestamp: int | None, value: object) -> None:
    frame = encode_record(timestamp, value)
    decoder = ElementDecoder()
    decoder.feed(frame)
    ((decoded_timestamp, decoded),) = list(decoder)
    assert decoded_timestamp == timestamp
    sent = fingerprint_frame(frame)
    assert 0 <= sent < 2**63
    assert sent == fingerprint(timestamp, value) == fingerprint(timestamp, decoded)
    assert sent == fingerprint_frame(memoryview(b"x" + frame)[1:])


BEYOND_64_BITS = st.one_of(st.integers(2**63 - 1, 2**64), st.integers(-(2**70), 2**70))


@given(TIMESTAMPS, st.lists(BEYOND_64_BITS, min_size=1).map(tuple))
def test_receiver_computes_fingerprint_of_sender_for_ints_beyond_64_bits(
    timestamp: int | None, value: tuple[int, ...]
) -> None:
    frame = encode_record(timestamp, value)
    decoder = ElementDecoder()
    decoder.feed(frame)
    ((_, decoded),) = list(decoder)
    assert encode_record(timestamp, decoded) == frame
    into = bytearray()
    encode_into(into, timestamp, value)
    assert into == frame


@given(VALUES, VALUES)
def test_fingerprints_are_equal_exactly_for_equal_values(first: object, second: object) -> None:
    assert (fingerprint(0, first) == fingerprint(0, second)) == (exact(first) == exact(second))


INVALID = st.sampled_from([memoryview(b"x"), (each for each in ()), (Lock(),), "\ud800", {"k": "\udfff"}])
OBJECTS = st.sampled_from([{1, "a"}, bytearray(b"x"), 1j, date(2024, 1, 2), Decimal("1.10"), OrderedDict(a=[1])])


@given(st.data())
def test_invalid_value_anywhere_inside_is_refused(data: st.DataObject) -> None:
    value: Any = data.draw(INVALID)
    for _ in range(data.draw(st.integers(0, 4))):
        wrap = data.draw(st.sampled_from(["tuple", "list", "dict", "row"]))
        around = [data.draw(VALUES), value, data.draw(VALUES)]
        value = {"tuple": tuple(around), "list": around, "dict": dict(enumerate(around)), "row": Row(*around)}[wrap]
    for function in (
        check,
        checked_copy,
        encode_value,
        lambda v: encode_values([v]),
        lambda v: encode_record(0, v),
        lambda v: fingerprint(0, v),
    ):
        try:
            function(value)
        except ValueNotAllowed:
            continue
        raise AssertionError(f"{function} let {value!r} in")


@given(st.binary(max_size=3), st.none() | st.integers() | st.floats() | st.text() | INVALID, VALUES | INVALID | OBJECTS)
def test_record_is_encoded_or_refused(before: bytes, timestamp: Any, value: object) -> None:
    buffer = bytearray(before)
    try:
        encode_record_into(buffer, timestamp, value)
    except ValueNotAllowed:
        assert buffer == before
    else:
        assert buffer[: len(before)] == before
        decoder = ElementDecoder()
        decoder.feed(buffer[len(before) :])
        ((_, decoded),) = list(decoder)
        assert exact(decoded) == exact(value)


def java_equals(first: object, second: object) -> bool:
    """Java's boxed equals: same class, doubles by bits with one NaN, tuples and rows field by field."""
    if type(first) is not type(second):
        return False
    if isinstance(first, float) and isinstance(second, float):
        both_nan = math.isnan(first) and math.isnan(second)
        return both_nan or struct.pack(">d", first) == struct.pack(">d", second)
    if isinstance(first, tuple | Row) and isinstance(second, tuple | Row):
        return len(first) == len(second) and all(map(java_equals, first, second))
    return first == second


CLOSE_SCALARS = st.sampled_from([None, 0, 0.0, -0.0, False, 1, 1.0, True, math.nan, -math.nan, "", b"", "1", b"1"])
CLOSE_KEYS = st.recursive(
    CLOSE_SCALARS,
    lambda keys: st.lists(keys, max_size=2).map(tuple) | st.lists(keys, max_size=2).map(lambda v: Row(*v)),
)


@given(CLOSE_KEYS | KEYS, CLOSE_KEYS | KEYS)
def test_keys_are_equal_exactly_when_equal_in_java(first: object, second: object) -> None:
    same = java_equals(first, second)
    assert (state_key(first) == state_key(second)) == same
    assert (key_fingerprint(first) == key_fingerprint(second)) == same
    if same:
        assert hash(state_key(first)) == hash(state_key(second))
        assert java_hash(first) == java_hash(second)


@given(KEYS)
def test_recorded_key_type_keeps_its_hash(key: object) -> None:
    name, _ = key_json(key)
    declared = infer_type(key)
    assert parse_type(name) == declared
    assert java_hash(key, declared) == java_hash(key)
    assert key_fingerprint(key, name) == key_fingerprint(key)


MARKERS = st.builds(LatencyMarker, INT64, INT64, INT64)
ELEMENTS = st.lists(st.tuples(TIMESTAMPS, VALUES) | INT64 | st.sampled_from(WatermarkStatus) | MARKERS, max_size=12)


Sent = tuple[int | None, object] | int | WatermarkStatus | LatencyMarker


def encode(elements: list[Sent]) -> bytes:
    buffer = bytearray()
    for element in elements:
        match element:
            case WatermarkStatus():
                encode_status_into(buffer, element)
            case LatencyMarker():
                encode_latency_marker_into(buffer, element)
            case int():
                buffer += encode_watermark(element)
            case _:
                encode_record_into(buffer, *element)
    return bytes(buffer)


def simplified(decoded: Element) -> object:
    match decoded:
        case (timestamp,):
            return timestamp
        case (timestamp, value):
            return timestamp, exact(value)
        case (_, int(status), _):
            return WatermarkStatus(status)
        case _:
            return latency_marker(decoded)


def expected(element: Sent) -> object:
    return (element[0], exact(element[1])) if isinstance(element, tuple) else element


@given(st.data(), st.lists(ELEMENTS, min_size=1, max_size=3), st.integers(1, 40))
def test_one_decoder_decodes_interleaved_channels_cut_anywhere(
    data: st.DataObject, sent: list[list[Sent]], tracked_bytes: int
) -> None:
    class Decoder(ElementDecoder):
        __slots__ = ()
        TRACKED_BYTES = tracked_bytes

    left = [encode(elements) for elements in sent]
    tails = [b""] * len(sent)
    received: list[list[object]] = [[] for _ in sent]
    decoder = Decoder()
    while any(left):
        channel = data.draw(st.sampled_from([c for c, rest in enumerate(left) if rest]))
        cut = data.draw(st.integers(1, len(left[channel])))
        decoder.feed(tails[channel] + left[channel][:cut])
        left[channel] = left[channel][cut:]
        budget = data.draw(st.integers(0, 3))
        if budget:  # break off, and later take up again or leave the rest in the tail
            for decoded in decoder:
                received[channel].append(simplified(decoded))
                budget -= 1
                if not budget:
                    break
        if data.draw(st.booleans()):
            received[channel].extend(map(simplified, decoder))
        tails[channel] = decoder.take_tail()
    for channel, tail in enumerate(tails):
        decoder.feed(tail)
        received[channel].extend(map(simplified, decoder))
        assert decoder.take_tail() == b""
    assert received == [list(map(expected, elements)) for elements in sent]
