"""Encodes records as bytes, and computes the fingerprint of the bytes (architecture decision D5).

A record is a msgpack array of two: timestamp (nil if there is none) and value. A tuple is an array; a list and a Row
are extensions, so that every value is decoded with its exact type. Equal values give equal bytes, but -0.0 and 0.0
differ, so do 1, 1.0 and True, and dicts of different order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

import msgpack
import msgspec
import xxhash

from flowsim.errors import ValueNotAllowed
from flowsim.values.closed_set import MAX_DEPTH, SCALARS, check
from flowsim.values.row import Row

LIST_CODE: Final = 1
"""The msgpack extension type of a list: an array of its items."""

ROW_CODE: Final = 2
"""The msgpack extension type of a Row: an array of two, its values and its field names (an array or nil)."""

_encoder: Final = msgspec.msgpack.Encoder()
_encode: Final = _encoder.encode
_append: Final = _encoder.encode_into
_NONE: Final = _encode(None)
_digest: Final = xxhash.xxh3_64_intdigest


def encode_into(buffer: bytearray, timestamp: object, value: object) -> None:
    """Appends one record to ``buffer``; raises ValueNotAllowed and leaves ``buffer`` unchanged.

    ``timestamp`` must be an int64 or None: it is checked where timestamps are assigned. If the encoder still rejects
    it, this raises ValueNotAllowed.
    """
    if type(value) is tuple:
        # The check of ``check``, inlined: a call would double the cost of the common flat tuple. The encoder rejects
        # lone surrogates and ints below the range; it accepts unsigned 64-bit ints above the range.
        for item in value:
            kind = type(item)
            if kind is int:
                if item > 9223372036854775807:
                    break
            elif kind is not str and kind is not float and kind not in SCALARS:
                break
        else:
            size = len(buffer)
            try:
                _append((timestamp, value), buffer, -1)
            except Exception as refused:
                # The encoder extended the buffer before it failed.
                del buffer[size:]
                check(value)
                raise _not_encoded(timestamp) from refused
            return
    encodable = plain(value)
    size = len(buffer)
    try:
        _append((timestamp, encodable), buffer, -1)
    except Exception as refused:
        del buffer[size:]
        raise _not_encoded(timestamp) from refused


def _not_encoded(timestamp: object) -> ValueNotAllowed:
    """Returns the error for a record that the encoder rejected although its value is in the closed set."""
    return ValueNotAllowed(
        f"timestamp: expected whole milliseconds of 64 bits or None, got {timestamp!r:.60} ({type(timestamp).__name__})"
    )


def encode_record(timestamp: int | None, value: object) -> bytes:
    """Returns the bytes of one record. Raises ValueNotAllowed."""
    buffer = bytearray()
    encode_into(buffer, timestamp, value)
    return bytes(buffer)


def encode_value(value: object) -> bytes:
    """Returns the bytes of a value alone, for ``decode_value``. Raises ValueNotAllowed."""
    return _encoder.encode(plain(value))


def encode_values(values: Sequence[object]) -> list[bytes]:
    """Returns ``encode_value`` of each value. Raises ValueNotAllowed."""
    encoded = []
    for value in values:
        if type(value) is tuple:
            # The check of ``check``, inlined as in ``encode_into``.
            for item in value:
                kind = type(item)
                if kind is int:
                    if not -9223372036854775808 <= item <= 9223372036854775807:
                        break
                elif kind is str:
                    if not item.isascii():
                        break
                elif kind is not float and kind not in SCALARS:
                    break
            else:
                encoded.append(_encode(value))
                continue
        encoded.append(_encode(plain(value)) if value is not None else _NONE)
    return encoded


def decode_value(encoded: bytes | bytearray | memoryview) -> object:
    """Returns the value of bytes made by ``encode_value``."""
    value: object = msgpack.unpackb(encoded, use_list=False, strict_map_key=False, ext_hook=decode_extension)
    return value


def plain(value: object) -> object:
    """Checks a value and replaces its lists and rows by extensions, so that they are distinct from tuples."""
    kind = type(value)
    if kind is float or (isinstance(value, str) and kind is str and value.isascii()):
        return value
    if isinstance(value, int) and kind is int and -9223372036854775808 <= value <= 9223372036854775807:
        return value
    check(value)
    return _plain(value)


def _plain(value: object) -> object:
    kind = type(value)
    if kind in SCALARS:
        return value
    if isinstance(value, tuple):
        for item in value:
            if type(item) not in SCALARS:
                return tuple(map(_plain, value))
        return value
    if isinstance(value, list):
        return msgspec.msgpack.Ext(LIST_CODE, _encoder.encode(tuple(map(_plain, value))))
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, Row):
        content = (tuple(map(_plain, value.field_values)), value.field_names)
        return msgspec.msgpack.Ext(ROW_CODE, _encoder.encode(content))
    raise ValueNotAllowed(f"{kind.__name__} is not a record value")


def decode_extension(code: int, content: bytes) -> object:
    """Returns the list or Row of a msgpack extension. Raises ValueNotAllowed for an unknown extension."""
    inner = decode_value(content)
    if code == LIST_CODE and isinstance(inner, tuple):
        return list(inner)
    if code == ROW_CODE and isinstance(inner, tuple):
        values, field_names = inner
        return Row.of(values, field_names)
    raise ValueNotAllowed(f"msgpack extension {code} is not one of flowsim's")


def decode_untrusted(encoded: bytes | memoryview, depth: int = 0) -> object:
    """Returns ``decode_value`` of bytes that a stranger may have written.

    Raises ValueNotAllowed, ValueError, TypeError, RecursionError or msgpack.UnpackException.
    """
    # Each nested list or Row needs much of the stack of msgpack's code, which has no bound of its own.
    if depth > MAX_DEPTH:
        raise ValueNotAllowed(f"value: nested more than {MAX_DEPTH} deep")
    extension = partial(_untrusted_extension, depth + 1)
    value: object = msgpack.unpackb(encoded, use_list=False, strict_map_key=False, ext_hook=extension)
    return value


def decode_untrusted_sequence(encoded: bytes) -> Iterator[object]:
    """Yields the values of bytes that follow each other, as ``decode_untrusted`` returns them.

    Raises what ``decode_untrusted`` raises, and ValueNotAllowed if the last value is incomplete.
    """
    unpacker = msgpack.Unpacker(
        use_list=False,
        strict_map_key=False,
        ext_hook=partial(_untrusted_extension, 1),
        max_buffer_size=max(1, len(encoded)),
    )
    unpacker.feed(encoded)
    end = 0
    for value in unpacker:
        end = unpacker.tell()
        yield value
    if end != len(encoded):
        raise ValueNotAllowed(f"the last of {len(encoded)} bytes are no whole value")


def _untrusted_extension(depth: int, code: int, content: bytes) -> object:
    inner = decode_untrusted(content, depth)
    if code == LIST_CODE and isinstance(inner, tuple):
        return list(inner)
    # A Row: one level, whose content was decoded above without an error.
    return decode_extension(code, content)


def fingerprint(timestamp: int | None, value: object) -> int:
    """Returns the 63-bit hash of a record; equal bytes have equal hashes.

    The hash is xxh3-64 without its lowest bit.
    """
    return _digest(encode_record(timestamp, value)) >> 1


def encode_decoded(timestamp: int | None, value: object) -> bytes:
    """Returns the bytes of a decoded record, whose value needs no check."""
    if type(value) is tuple:
        for item in value:
            if type(item) not in SCALARS:
                break
        else:
            return _encode((timestamp, value))
    return encode_record(timestamp, value)


def fingerprint_frame(frame: bytes | bytearray | memoryview) -> int:
    """Returns the ``fingerprint`` of the bytes of an encoded record."""
    return _digest(frame) >> 1
