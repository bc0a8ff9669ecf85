"""The subtask of a recorded key (rules 1.18, 1.19 and 1.23); independent of the simulator's hash codes."""

from __future__ import annotations

import json
import pickle
import struct
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from flowsim.errors import BadInput
from flowsim.values.types import TypeInformation, TypeKind, Types, is_pickled_as_in_pyflink, parse_type

_STRING: Final = TypeInformation(TypeKind.STRING)


@lru_cache(maxsize=1 << 16)
def recorded_key_hash(key_type: str, key_json: str) -> int | None:
    """Java's hash code of a key of table ``keys``, as a signed 32-bit integer; None if it is not a key of that type.

    >>> recorded_key_hash("TUPLE<STRING,LONG>", '["a",7]')
    3014
    """
    try:
        return _signed(_hash(parse_type(key_type), json.loads(key_json)))
    except (BadInput, ValueError, TypeError, struct.error, OverflowError):
        return None


@lru_cache(maxsize=1 << 16)
def owner_subtask(key_hash: int, parallelism: int, max_parallelism: int) -> int:
    """The subtask that owns the key group of a hash code."""
    return _murmur(key_hash) % max_parallelism * parallelism // max_parallelism


def owned_groups(subtask: int, parallelism: int, max_parallelism: int) -> tuple[int, int]:
    """The first and the last key group of a subtask (rule 1.20).

    >>> owned_groups(0, 3, 128), owned_groups(2, 3, 128)
    ((0, 42), (86, 127))
    """
    return -(-subtask * max_parallelism // parallelism), ((subtask + 1) * max_parallelism - 1) // parallelism


def _hash(declared: TypeInformation, value: object) -> int:
    if value is None and declared.kind not in (TypeKind.ROW_KEY, TypeKind.PICKLED_KEY):
        return 0
    match declared.kind, value:
        case TypeKind.ROW_KEY, _:
            return _polynomial([_hash_in_row(declared.arguments[0], value)], start=1)
        case TypeKind.PICKLED_KEY, _:
            return _hash_of_pickle(declared.arguments[0], value)
        case (
            (
                TypeKind.PICKLED_BYTE_ARRAY
                | TypeKind.BIG_INT
                | TypeKind.BIG_DEC
                | TypeKind.INSTANT
                | TypeKind.SQL_DATE
                | TypeKind.SQL_TIME
                | TypeKind.SQL_TIMESTAMP
            ),
            (dict() | int()),
        ):
            return _hash_of_text(value)
        case ((TypeKind.STRING | TypeKind.CHAR), str()):
            return _polynomial(unit for (unit,) in struct.iter_unpack("<H", value.encode("utf-16-le")))
        case TypeKind.BOOLEAN, bool():
            return 1231 if value else 1237
        case ((TypeKind.BYTE | TypeKind.SHORT | TypeKind.INT), int()):
            return value
        case TypeKind.LONG, int():
            return _folded(struct.pack(">q", value))
        case TypeKind.DOUBLE, (float() | int() | str()):
            number = float(value)
            return _folded(struct.pack(">d", number) if number == number else b"\x7f\xf8" + bytes(6))
        case TypeKind.FLOAT, (float() | int() | str()):
            number = float(value)
            return int.from_bytes(struct.pack(">f", number) if number == number else b"\x7f\xc0\0\0")
        case TypeKind.PRIMITIVE_ARRAY, str():
            return _polynomial(struct.unpack(f"{len(value) // 2}b", bytes.fromhex(value)), start=1)
        case TypeKind.TUPLE, list():
            return _polynomial(map(_hash, declared.arguments, _of_length(value, declared)))
        case ((TypeKind.LIST | TypeKind.PRIMITIVE_ARRAY | TypeKind.OBJECT_ARRAY | TypeKind.BASIC_ARRAY), list()):
            return _polynomial((_hash(_type_of_item(declared, item), item) for item in value), start=1)
        case TypeKind.ROW, list():
            return _polynomial(map(_hash_in_row, declared.arguments, _of_length(value, declared)), start=1)
        case _:
            raise ValueError("not a key")


def _type_of_item(declared: TypeInformation, item: object) -> TypeInformation:
    """Returns the type of an item of a list: by its JSON if the list has items of several types."""
    if declared.arguments[0].kind is not TypeKind.PICKLED_BYTE_ARRAY:
        return declared.arguments[0]
    by_json = {bool: Types.BOOLEAN(), int: Types.LONG(), float: Types.DOUBLE(), str: Types.STRING()}
    return by_json.get(type(item), declared.arguments[0])


def _hash_of_text(value: object) -> int:
    return _hash(_STRING, json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def _hash_of_pickle(inferred: TypeInformation, value: object) -> int:
    if value is not None and not is_pickled_as_in_pyflink(inferred):
        return _hash_of_text(value)
    pickled = pickle.dumps(_key(inferred, value), 5)
    return _polynomial([31 + _polynomial(struct.unpack(f"{len(pickled)}b", pickled), start=1)], start=1)


def _key(inferred: TypeInformation, value: object) -> object:
    """Returns the key whose JSON this is."""
    match inferred.kind, value:
        case TypeKind.DOUBLE, (float() | int() | str()):
            return float(value)
        case TypeKind.PRIMITIVE_ARRAY, str():
            return bytes.fromhex(value)
        case TypeKind.LIST, list():
            return [_key(inferred.arguments[0], item) for item in value]
        case TypeKind.TUPLE, list():
            return tuple(map(_key, inferred.arguments, _of_length(value, inferred)))
        case _:
            return value


def _hash_in_row(declared: TypeInformation, value: object) -> int:
    # Flink hashes a row's field as a list of one element (RowUtils), so 31 is added to the field's own hash.
    # It takes the items of a list in the same way, without a number for the list itself.
    if isinstance(value, list) and declared.kind in (TypeKind.LIST, TypeKind.OBJECT_ARRAY, TypeKind.BASIC_ARRAY):
        return _polynomial((_hash_in_row(declared.arguments[0], item) for item in value), start=1)
    return 0 if value is None else 31 + _hash(declared, value)


def _of_length(items: list[object], declared: TypeInformation) -> list[object]:
    if len(items) != len(declared.arguments):
        raise ValueError("not a key")
    return items


def _polynomial(hashes: Iterable[int], start: int = 0) -> int:
    result = start
    for each in hashes:
        result = 31 * result + each & 0xFFFFFFFF
    return result


def _folded(eight_bytes: bytes) -> int:
    high, low = struct.unpack(">II", eight_bytes)
    return int(high ^ low)


def _signed(value: int) -> int:
    return (value + 0x80000000 & 0xFFFFFFFF) - 0x80000000


def _murmur(key_hash: int) -> int:
    h = _rotated(key_hash * 0xCC9E2D51, 15)
    h = _rotated(h * 0x1B873593, 13) * 5 + 0xE6546B64
    h = (h ^ 4) & 0xFFFFFFFF
    h = (h ^ h >> 16) * 0x85EBCA6B & 0xFFFFFFFF
    h = (h ^ h >> 13) * 0xC2B2AE35 & 0xFFFFFFFF
    h = _signed(h ^ h >> 16)
    return 0 if h == -0x80000000 else abs(h)


def _rotated(value: int, bits: int) -> int:
    value &= 0xFFFFFFFF
    return (value << bits | value >> 32 - bits) & 0xFFFFFFFF
