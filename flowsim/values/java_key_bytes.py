"""The order in which Flink sorts serialized keys, by declared type, or by value without one.

Flink sorts the keyed inputs of BATCH mode by the bytes of Java's serializers, as signed numbers. Flink:
SortingDataInput, VariableLengthByteKeyComparator, FixedLengthByteKeyComparator.
"""

from __future__ import annotations

import pickle
import struct
from collections.abc import Iterable, Sequence
from math import nan
from typing import Final

from flowsim.values.encoding import decode_value, encode_value
from flowsim.values.java_hash_code import key_hash
from flowsim.values.keys import infer_type, json_text
from flowsim.values.row import Row
from flowsim.values.types import TypeInformation, TypeKind, as_type, is_pickled_as_in_pyflink

_BY_VALUE: Final = TypeKind.PICKLED_BYTE_ARRAY
_FORMATS: Final = {
    TypeKind.BYTE: ">b", TypeKind.SHORT: ">h", TypeKind.INT: ">i", TypeKind.LONG: ">q", TypeKind.FLOAT: ">f",
    TypeKind.DOUBLE: ">d", TypeKind.BOOLEAN: ">?",
}  # fmt: skip
_AS_SIGNED: Final = bytes(byte ^ 0x80 for byte in range(256))
"""Makes Python's order of bytes that of Java, whose bytes are signed."""
_NONE_OF_FIELDS: Final = 2
"""The first bits of a row's mask: its kind."""


def sort_key(key: object, declared: str | TypeInformation | None = None) -> bytes:
    """Returns what has the place of a key in Flink's order of serialized keys.

    Raises NullKey for None outside PyFlink, and ValueNotAllowed for a key that does not fit its declared type.

    >>> sorted(["b", "ab", "Z", "é", "a"], key=sort_key)
    ['é', 'Z', 'a', 'b', 'ab']
    >>> sorted([300, -1, 5, 1], key=sort_key)
    [-1, 1, 5, 300]
    """
    key_hash(key, declared)
    return _bytes(key, None if declared is None else as_type(declared)).translate(_AS_SIGNED)


def _bytes(value: object, declared: TypeInformation | None) -> bytes:
    """Returns the bytes of a value that fits its declared type."""
    kind = _BY_VALUE if declared is None else declared.kind
    if declared is None or kind is _BY_VALUE:
        return _by_value(value)
    if kind in _FORMATS:
        return _number(_FORMATS[kind], value)
    arguments = declared.arguments
    match kind, value:
        case TypeKind.STRING, str():
            return _string(value)
        case TypeKind.CHAR, str():
            return struct.pack(">H", ord(value))
        case TypeKind.PRIMITIVE_ARRAY, bytes():
            return _counted(value, value)
        case TypeKind.ROW_KEY, _:
            return _row((value,), arguments)
        case TypeKind.PICKLED_KEY, _ if value is None or is_pickled_as_in_pyflink(infer_type(value)):
            content = pickle.dumps(decode_value(encode_value(value)), 5)
            return b"\0" + _counted(content, content)
        case TypeKind.TUPLE, tuple():
            return b"".join(map(_bytes, value, arguments))
        case TypeKind.ROW, Row():
            return _row(value.field_values, arguments)
        case ((TypeKind.LIST | TypeKind.PRIMITIVE_ARRAY | TypeKind.BASIC_ARRAY | TypeKind.OBJECT_ARRAY), list()):
            return _list(value, arguments[0])
        case _:
            return json_text(value).encode()


def _by_value(value: object) -> bytes:
    match value:
        case bool():
            return struct.pack(">?", value)
        case int():
            return struct.pack(">q", value)
        case float():
            return _number(">d", value)
        case str():
            return _string(value)
        case bytes():
            return _counted(value, value)
        case tuple():
            return b"".join(map(_by_value, value))
        case list():
            return _list(value, None)
        case Row():
            return _row(value.field_values, (None,) * len(value))
        case _:
            return json_text(value).encode()


def _number(form: str, value: object) -> bytes:
    """Returns the bytes of a number; every NaN has the same ones. Java: Double.doubleToLongBits."""
    return struct.pack(form, value if value == value else nan)


def _string(text: str) -> bytes:
    """Returns the length + 1, then each UTF-16 unit, all in groups of 7 bits. Flink: StringValue.writeString."""
    units = [unit for (unit,) in struct.iter_unpack(">H", text.encode("utf-16-be", "surrogatepass"))]
    written = bytearray()
    for number in (len(units) + 1, *units):
        while number >= 0x80:
            written.append(number & 0x7F | 0x80)
            number >>= 7
        written.append(number)
    return bytes(written)


def _counted(values: Sequence[object], content: bytes) -> bytes:
    return struct.pack(">i", len(values)) + content


def _list(values: Sequence[object], element: TypeInformation | None) -> bytes:
    return _counted(values, b"".join(_bytes(value, element) for value in values))


def _row(values: Sequence[object], types: Sequence[TypeInformation | None]) -> bytes:
    """Returns the mask of the fields that are null, then the other fields. Flink: RowSerializer."""
    bits = [False] * _NONE_OF_FIELDS + [value is None for value in values]
    fields = (_bytes(value, kind) for value, kind in zip(values, types, strict=True) if value is not None)
    return _mask(bits) + b"".join(fields)


def _mask(bits: Iterable[bool]) -> bytes:
    """Returns bits as bytes, the first one highest. Flink: MaskUtils.writeMask."""
    text = "".join("1" if bit else "0" for bit in bits)
    text += "0" * (-len(text) % 8)
    return int(text, 2).to_bytes(len(text) // 8, "big")
