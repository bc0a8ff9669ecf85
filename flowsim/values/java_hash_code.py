"""Java's ``hashCode`` of values, by declared type, or by value without one (rule 1.23).

By value: None is null (0), bool Boolean, int **Long**, float Double, str String, bytes ``byte[]`` by content, tuple
Tuple, list ``java.util.List``, dict ``java.util.Map``, Row Row; objects of other classes hash as their JSON text. A hash
is a signed 32-bit integer.
"""

from __future__ import annotations

import math
import pickle
import struct
from collections.abc import Iterable, Sequence
from typing import Final

from mypy_extensions import i64

from flowsim.errors import NullKey, ValueNotAllowed
from flowsim.values.closed_set import INT_MAX, INT_MIN
from flowsim.values.encoding import decode_value, encode_value
from flowsim.values.keys import infer_type, json_text
from flowsim.values.row import Row
from flowsim.values.types import TypeInformation, TypeKind, as_type, is_pickled_as_in_pyflink

# Looking an enum member up takes longer than hashing a number.
_BY_VALUE: Final = TypeKind.PICKLED_BYTE_ARRAY
_LONGS: Final = TypeKind.LONG
_OF_PYFLINK: Final = (TypeKind.ROW_KEY, TypeKind.PICKLED_KEY)

_WORD: Final = 0xFFFFFFFF
_INT_BITS: Final = {TypeKind.BYTE: 8, TypeKind.SHORT: 16, TypeKind.INT: 32, TypeKind.LONG: 64}
_CANONICAL_NAN: Final = 0x7FF8000000000000
_CANONICAL_FLOAT_NAN: Final = 0x7FC00000
_MAX_FLOAT: Final = 3.4028234663852886e38


def java_hash(value: object, declared: str | TypeInformation | None = None) -> int:
    """Returns Java's hash code of a value; raises ValueNotAllowed if it does not fit its declared type.

    >>> java_hash("user-1"), java_hash(-1), java_hash(-1, "INT")
    (-836031825, 0, -1)
    """
    h = _hash(value, None if declared is None else as_type(declared)) & _WORD
    return h - 0x100000000 if h & 0x80000000 else h


def key_hash(key: object, declared: str | TypeInformation | None = None) -> int:
    """Returns Java's hash code of a key; raises NullKey for None, which is never a key (rule 1.22).

    PyFlink puts each key into a Row, or pickles it, so None is a key of a program for PyFlink.
    """
    key_type = as_type(declared)
    if key is None and (key_type is None or key_type.kind not in _OF_PYFLINK):
        raise NullKey("a key is None: Flink does not allow null keys; return another key or drop the record")
    return java_hash(key, key_type)


def _hash(value: object, declared: TypeInformation | None) -> int:
    """Returns the hash, or any number that is equal to it modulo 2^32."""
    kind = _BY_VALUE if declared is None else declared.kind
    if value is None and kind not in _OF_PYFLINK:
        return 0
    # Tested first: every new key of an operator or a map state is hashed, and most are whole numbers.
    if type(value) is int and (kind is _BY_VALUE or kind is _LONGS) and INT_MIN <= value <= INT_MAX:
        return _long(value)
    if declared is None or kind is _BY_VALUE:
        return _hash_by_value(value)
    return _hash_declared(value, declared)


def _misfit(value: object, declared: TypeInformation) -> ValueNotAllowed:
    return ValueNotAllowed(f"{value!r:.80} ({type(value).__name__}) does not fit its declared type {declared.name}")


def _string(text: str) -> int:
    if text.isascii():
        return _ascii(text.encode())
    h = 0
    for (unit,) in struct.iter_unpack(">H", text.encode("utf-16-be", "surrogatepass")):
        h = (31 * h + unit) & _WORD
    return h


def _ascii(text: bytes) -> i64:
    h: i64 = 0
    for index in range(len(text)):
        h = (31 * h + text[index]) & _WORD
    return h


def _fits(value: int, kind: TypeKind) -> bool:
    half = 1 << (_INT_BITS[kind] - 1)
    return -half <= value < half


def _long(value: i64) -> i64:
    # Java's shift fills with zeros, which only changes bits above the lower 32.
    return value ^ (value >> 32)


def _double(value: float) -> int:
    bits: int = _CANONICAL_NAN if value != value else struct.unpack(">Q", struct.pack(">d", value))[0]
    return bits ^ (bits >> 32)


def _float(value: float, declared: TypeInformation) -> int:
    if value != value:
        return _CANONICAL_FLOAT_NAN
    # A key that single precision cannot hold would become another key in Java.
    if value not in (math.inf, -math.inf) and (abs(value) > _MAX_FLOAT or _single(value) != value):
        raise _misfit(value, declared)
    bits: int = struct.unpack(">I", struct.pack(">f", value))[0]
    return bits


def _single(value: float) -> float:
    narrowed: float = struct.unpack(">f", struct.pack(">f", value))[0]
    return narrowed


def _polynomial(hashes: Iterable[int], start: int) -> int:
    h = start
    for each in hashes:
        h = (31 * h + each) & _WORD
    return h


def _tuple(values: Sequence[object], types: Sequence[TypeInformation | None]) -> int:
    # Tuple1 hashes as its field and Tuple0 as 0: no leading 1, unlike a list.
    return _polynomial(map(_hash, values, types), 0)


def _list(values: Sequence[object], element: TypeInformation | None) -> int:
    return _polynomial((_hash(value, element) for value in values), 1)


def _map(entries: dict[object, object], key: TypeInformation | None, value: TypeInformation | None) -> int:
    return sum((_hash(k, key) & _WORD) ^ (_hash(v, value) & _WORD) for k, v in entries.items())


def _byte_array(content: bytes) -> int:
    return _polynomial((byte - 256 if byte > 127 else byte for byte in content), 1)


def _row(row: Row, types: Sequence[TypeInformation | None]) -> int:
    # Names do not matter. A row hashes its contents deeply, see _deep.
    return _polynomial(map(_deep, row.field_values, types), 1)


def _deep(value: object, declared: TypeInformation | None) -> int:
    """Returns the hash of a value inside a row, as in Flink's RowUtils.

    Containers have a special rule; the hash of another value is 31 + hashCode.
    """
    if value is None:
        return 0
    arguments = declared.arguments if declared is not None else ()
    if type(value) is list and (declared is None or declared.kind is not TypeKind.PRIMITIVE_ARRAY):
        element = arguments[0] if arguments else None
        return _polynomial((_deep(item, element) for item in value), 1)
    if type(value) is dict:
        key_type, value_type = arguments if len(arguments) == 2 else (None, None)
        return 1 + sum((_deep(k, key_type) & _WORD) ^ (_deep(v, value_type) & _WORD) for k, v in value.items())
    return 31 + _hash(value, declared)


def _hash_by_value(value: object) -> int:
    match value:
        case bool():
            return 1231 if value else 1237
        case int() if type(value) is int and INT_MIN <= value <= INT_MAX:
            return _long(value)
        case float() if type(value) is float:
            return _double(value)
        case str() if type(value) is str:
            return _string(value)
        case bytes() if type(value) is bytes:
            return _byte_array(value)
        case tuple() if type(value) is tuple:
            return _tuple(value, (None,) * len(value))
        case list():
            return _list(value, None)
        case dict():
            return _map(value, None, None)
        case Row():
            return _row(value, (None,) * len(value))
        case _:
            return _string(json_text(value))


_BY_TEXT: Final = (
    TypeKind.BIG_INT, TypeKind.BIG_DEC, TypeKind.INSTANT, TypeKind.SQL_DATE, TypeKind.SQL_TIME, TypeKind.SQL_TIMESTAMP
)  # fmt: skip


def _pickled_key(value: object) -> int:
    if value is not None and not is_pickled_as_in_pyflink(infer_type(value)):
        return _string(json_text(value))
    # A pickle refers to a part that occurs again, so its bytes depend on which parts are one object: none of a copy are.
    return _row(Row(pickle.dumps(decode_value(encode_value(value)), 5)), (None,))


def _hash_declared(value: object, declared: TypeInformation) -> int:
    kind, arguments = declared.kind, declared.arguments
    if kind in _BY_TEXT:
        return _string(json_text(value))
    if kind is TypeKind.ROW_KEY:
        return _row(Row(value), arguments)
    if kind is TypeKind.PICKLED_KEY:
        return _pickled_key(value)
    is_number = type(value) is int  # a bool is none
    match kind, value:
        case TypeKind.STRING, str():
            return _string(value)
        case TypeKind.CHAR, str() if len(value) == 1 and value <= "\uffff":
            return ord(value)
        case TypeKind.BOOLEAN, bool():
            return 1231 if value else 1237
        case ((TypeKind.BYTE | TypeKind.SHORT | TypeKind.INT), int()) if is_number and _fits(value, kind):
            return value
        case TypeKind.LONG, int() if is_number and INT_MIN <= value <= INT_MAX:
            return _long(value)
        case TypeKind.DOUBLE, float():
            return _double(value)
        case TypeKind.FLOAT, float():
            return _float(value, declared)
        case TypeKind.PRIMITIVE_ARRAY, bytes() if arguments[0].kind is TypeKind.BYTE:
            return _byte_array(value)
        case ((TypeKind.LIST | TypeKind.PRIMITIVE_ARRAY | TypeKind.BASIC_ARRAY | TypeKind.OBJECT_ARRAY), list()):
            return _list(value, arguments[0])
        case TypeKind.MAP, dict():
            return _map(value, *arguments)
        case TypeKind.TUPLE, tuple() if len(value) == len(arguments):
            return _tuple(value, arguments)
        case TypeKind.ROW, Row() if len(value) == len(arguments):
            return _row(value, arguments)
        case _:
            raise _misfit(value, declared)
