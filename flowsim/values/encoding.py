"""Encodes records as bytes, and computes the fingerprint of the bytes (architecture decision D5).

A record is a msgpack array of two: timestamp (nil if there is none) and value. A tuple is an array; a list, a Row and an
object of another class are extensions, so that every value is decoded with its exact type. Equal values give equal
bytes, but -0.0 and 0.0 differ, so do 1, 1.0 and True, and dicts of different order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final
from weakref import WeakSet

import msgpack
import msgspec
import xxhash
from librt.strings import read_i64_be
from mypy_extensions import i64

from flowsim.errors import ValueNotAllowed
from flowsim.values.closed_set import MAX_DEPTH, SCALARS, allowed_key, check, is_closed
from flowsim.values.objects import Making, Parts, ShownObject, has_text, known, parts_of, put_together, shown, stored
from flowsim.values.row import Row, RowKind

LIST_CODE: Final = 1
"""The msgpack extension type of a list: an array of its items."""

ROW_CODE: Final = 2
"""The msgpack extension type of a Row: its values, its field names (an array or nil), and its kind if it is no INSERT."""

OBJECT_CODE: Final = 3
"""The msgpack extension type of an object of another class: an array of the fields of ``objects.Parts``."""

DICT_CODE: Final = 4
"""The msgpack extension type of a dict whose keys are not all scalars and tuples: an array of keys and values in turn."""

INT_CODE: Final = 5
"""The msgpack extension type of an int beyond 64 bits: its decimal digits."""

_encoder: Final = msgspec.msgpack.Encoder()
_encode: Final = _encoder.encode
_append: Final = _encoder.encode_into
_NONE: Final = _encode(None)
_SMALL: Final = 4611686018427387903
"""The largest int that compiled code compares without an object."""
_digest: Final = xxhash.xxh3_64_digest
_BITS_63: Final[i64] = 0x7FFF_FFFF_FFFF_FFFF


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
            if type(item) is int:
                if item > _SMALL:
                    break
            elif kind is not str and kind is not float and kind not in SCALARS:
                break
        else:
            size = len(buffer)
            try:
                _append((timestamp, value), buffer, -1)
            except Exception:
                # The encoder extended the buffer before it failed.
                del buffer[size:]
            else:
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
    if type(value) is tuple:
        # The check of ``encode_into``.
        for item in value:
            kind = type(item)
            if type(item) is int:
                if item > _SMALL:
                    break
            elif kind is not str and kind is not float and kind not in SCALARS:
                break
        else:
            try:
                return _encode((timestamp, value))
            except Exception:
                pass  # The code below raises the error that names the reason.
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
    """Checks a value and replaces what msgpack lacks by extensions, so that lists and rows are distinct from tuples."""
    kind = type(value)
    if kind is float or (isinstance(value, str) and kind is str and value.isascii()):
        return value
    if isinstance(value, int) and kind is int and -9223372036854775808 <= value <= 9223372036854775807:
        return value
    if is_closed(value):
        return _plain(value)
    check(value)
    return _plain_object(value)


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
        content: tuple[object, ...] = (tuple(map(_plain, value.field_values)), value.field_names)
        kind_of_row = value.get_row_kind()
        if kind_of_row is not RowKind.INSERT:
            content = (*content, kind_of_row.value)
        return msgspec.msgpack.Ext(ROW_CODE, _encoder.encode(content))
    raise ValueNotAllowed(f"{kind.__name__} is not a record value")


def _plain_object(value: object) -> object:
    """Does what ``_plain`` does for checked values that are, or contain, objects of other classes."""
    kind = type(value)
    if is_closed(value):
        return _plain(value)
    if kind is int:
        return msgspec.msgpack.Ext(INT_CODE, str(value).encode())
    if kind is tuple:
        return tuple(map(_plain_object, value))  # type: ignore[call-overload]
    if isinstance(value, list) and kind is list:
        return _extension(LIST_CODE, value)
    if isinstance(value, Row) and kind is Row:
        kind_of_row = value.get_row_kind()
        changes = () if kind_of_row is RowKind.INSERT else (kind_of_row.value,)
        return _extension(ROW_CODE, (value.field_values, value.field_names, *changes))
    if isinstance(value, dict) and kind is dict:
        if all(allowed_key(key, 0) for key in value):
            return {key: _plain_object(item) for key, item in value.items()}
        return _extension(DICT_CODE, [part for pair in value.items() for part in pair])
    return _plain_parts(value)


def _extension(code: int, content: Sequence[object]) -> msgspec.msgpack.Ext:
    return msgspec.msgpack.Ext(code, _encode(tuple(map(_plain_object, content))))


_verified: Final[WeakSet[type]] = WeakSet()
"""Classes of which an object was equal to its copy."""


def _plain_parts(value: object) -> msgspec.msgpack.Ext:
    parts = parts_of(value)
    arguments: Sequence[object] = parts.arguments
    if parts.making is Making.SET:
        # The order of a set depends on the process.
        arguments = sorted(arguments, key=encode_value)
    fields = (int(parts.making), parts.name, arguments, parts.state, parts.items, parts.pairs)
    extension = _extension(OBJECT_CODE, (*fields[:2], tuple(arguments), *fields[3:]))
    if type(value) not in _verified:
        _verified.add(type(value))
        if _plain_parts(decode_value(_encode(extension))) != extension:
            _verified.discard(type(value))
            raise ValueNotAllowed(
                f"value: {type(value).__module__}.{type(value).__qualname__} is not a record value: its content differs "
                "in a copy, so recordings of equal runs would differ"
            )
    return extension


def decode_extension(code: int, content: bytes) -> object:
    """Returns the value of a msgpack extension. Raises ValueNotAllowed for an unknown extension."""
    return _from_extension(code, content if code == INT_CODE else decode_value(content), _known_object)


def _known_object(parts: Parts) -> object:
    return put_together(parts, known)


def _stored_object(parts: Parts) -> object:
    return put_together(parts, stored)


def _parts(fields: tuple[object, ...]) -> Parts:
    making, *content = fields
    return Parts(Making(making), *content)  # type: ignore[arg-type]


def _from_extension(code: int, inner: object, make: Callable[[Parts], object]) -> object:
    """Returns the value of an extension with this decoded content. Raises ValueNotAllowed."""
    if code == LIST_CODE and isinstance(inner, tuple):
        return list(inner)
    if code == ROW_CODE and isinstance(inner, tuple):
        values, field_names, *kind_of_row = inner
        return Row.of(values, field_names, RowKind(*kind_of_row) if kind_of_row else RowKind.INSERT)
    if code == OBJECT_CODE and isinstance(inner, tuple):
        return make(_parts(inner))
    if code == DICT_CODE and isinstance(inner, tuple):
        return dict(zip(inner[::2], inner[1::2], strict=True))
    if code == INT_CODE and isinstance(inner, bytes):
        return int(inner)
    raise ValueNotAllowed(f"msgpack extension {code} is not one of flowsim's")


def decode_shown(encoded: bytes | bytearray | memoryview) -> object:
    """Returns the value of bytes made by ``encode_value`` for output, with a dict in place of each object.

    >>> decode_shown(encode_value([complex(1, 2)]))
    [{'class': 'complex', 'value': '(1+2j)'}]
    """
    value: object = msgpack.unpackb(encoded, use_list=False, strict_map_key=False, ext_hook=_shown_extension)
    return value


def _shown_extension(code: int, content: bytes) -> object:
    if code == INT_CODE:
        return int(content)
    inner = decode_shown(content)
    if code == DICT_CODE and isinstance(inner, tuple):
        return ShownObject({"class": "dict", "items": list(zip(inner[::2], inner[1::2], strict=True))})
    if code != OBJECT_CODE or not isinstance(inner, tuple):
        return _from_extension(code, inner, shown)
    parts = _parts(inner)
    if has_text(parts):
        return ShownObject(shown(Parts(parts.making, parts.name)), value=str(_untrusted_extension(0, code, content)))
    return shown(parts)


def decode_untrusted(encoded: bytes | memoryview, depth: int = 0) -> object:
    """Returns ``decode_value`` of bytes that a stranger may have written.

    Raises ValueNotAllowed, ValueError, TypeError, RecursionError or msgpack.UnpackException.
    """
    # Each nested extension needs much of the stack of msgpack's code, which has no bound of its own.
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
    return _from_extension(code, content if code == INT_CODE else decode_untrusted(content, depth), _stored_object)


def fingerprint(timestamp: int | None, value: object) -> int:
    """Returns the 63-bit hash of a record; equal bytes have equal hashes.

    The hash is xxh3-64 without its lowest bit.
    """
    return fingerprint_frame(encode_record(timestamp, value))


def fingerprint_frame(frame: bytes | bytearray | memoryview) -> i64:
    """Returns the ``fingerprint`` of the bytes of an encoded record."""
    return (read_i64_be(_digest(frame), 0) >> 1) & _BITS_63
