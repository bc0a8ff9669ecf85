"""Values as PyFlink's coders change them on their way through a declared type."""

from __future__ import annotations

import struct
from collections.abc import Callable
from datetime import datetime, time
from typing import Final

from flowsim.datastream.pyflink_way import is_pyflink_way
from flowsim.errors import BadInput, ValueNotAllowed
from flowsim.values.row import Row
from flowsim.values.types import LIST_KINDS, TypeInformation, TypeKind, Types

Change = Callable[[object], object]
"""What a declared type makes of a value."""

_ARRAYS: Final = (TypeKind.PRIMITIVE_ARRAY, TypeKind.BASIC_ARRAY, TypeKind.OBJECT_ARRAY)
_WRAPPED_BITS: Final = {TypeKind.BYTE: 8, TypeKind.SHORT: 16}
_BOUNDED_BITS: Final = {TypeKind.INT: 32, TypeKind.LONG: 64, TypeKind.BIG_INT: 64}


def change_in_pyflink_way(declared: TypeInformation | None) -> Change | None:
    """Returns ``change_of`` of a type in a program for PyFlink; None in Python's API, where a type changes no value."""
    return change_of(declared) if is_pyflink_way() else None


def key_type_name(key_type: TypeInformation | None) -> str | None:
    """Returns the name of the type that decides the hash code of keys; None: the value of each key decides.

    In a program for PyFlink a key hashes as a Row with the key, or with its pickle if it has no declared type. Raises
    BadInput for arrays, which are no keys there.
    """
    if not is_pyflink_way():
        return None if key_type is None else key_type.name
    if key_type is None or key_type.kind is TypeKind.PICKLED_BYTE_ARRAY:
        return TypeInformation(TypeKind.PICKLED_KEY, (Types.PICKLED_BYTE_ARRAY(),)).name
    if key_type.kind in _ARRAYS:
        raise BadInput(f"key_by: the type {key_type.name} cannot be used as key: use Types.LIST, or give no type")
    return TypeInformation(TypeKind.ROW_KEY, (key_type,)).name


def change_of(declared: TypeInformation | None) -> Change | None:
    """Returns what PyFlink's coder of a type makes of a value; None if it changes no value of that type.

    FLOAT narrows, BYTE and SHORT wrap, an INT or LONG that does not fit raises ValueNotAllowed, TUPLE makes tuples, ROW
    takes fields by name and gives names, and times lose what Flink does not store. A value of another kind stays as it is.
    """
    if declared is None:
        return None
    match declared.kind:
        case TypeKind.BYTE | TypeKind.SHORT:
            return _wrapping(_WRAPPED_BITS[declared.kind])
        case TypeKind.INT | TypeKind.LONG | TypeKind.BIG_INT:
            return _bounded(declared, _BOUNDED_BITS[declared.kind])
        case TypeKind.FLOAT:
            return _narrowed
        case TypeKind.DOUBLE:
            return _as_float
        case TypeKind.SQL_TIME | TypeKind.SQL_TIMESTAMP:
            return _in_milliseconds
        case TypeKind.TUPLE | TypeKind.ROW:
            return _fields(declared)
        case kind if kind in LIST_KINDS:
            return _items(declared.arguments[0])
        case TypeKind.MAP:
            return _entries(*declared.arguments)
        case _:
            return None


def _wrapping(bits: int) -> Change:
    half = 1 << (bits - 1)

    def wrap(value: object) -> object:
        return (value + half) % (2 * half) - half if type(value) is int else value

    return wrap


def _bounded(declared: TypeInformation, bits: int) -> Change:
    half = 1 << (bits - 1)

    def check(value: object) -> object:
        if type(value) is int and not -half <= value < half:
            raise ValueNotAllowed(f"{value} does not fit its declared type {declared.name}")
        return value

    return check


def _narrowed(value: object) -> object:
    if type(value) is not float and type(value) is not int:
        return value
    try:
        narrowed: float = struct.unpack(">f", struct.pack(">f", value))[0]
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
    return narrowed


def _as_float(value: object) -> object:
    return float(value) if type(value) is int else value


def _in_milliseconds(value: object) -> object:
    if isinstance(value, time | datetime):
        return value.replace(microsecond=value.microsecond // 1000 * 1000)
    return value


def _fields(declared: TypeInformation) -> Change:
    changes = [change_of(argument) for argument in declared.arguments]
    names = tuple(declared.get_field_names())
    is_row = declared.kind is TypeKind.ROW

    def change(value: object) -> object:
        if isinstance(value, Row) and is_row and value.field_names not in (None, names):
            value = _by_names(value, names)
        if not isinstance(value, tuple | list | Row) or len(value) != len(changes):
            return value
        fields = [item if each is None else each(item) for each, item in zip(changes, value, strict=True)]
        if not is_row:
            return tuple(fields)
        if isinstance(value, Row):
            return Row.of(fields, names, value.get_row_kind())
        return Row.of(fields, names)

    return change


def _by_names(row: Row, names: tuple[str, ...]) -> Row:
    """Returns the fields of a row with names in the order of its type."""
    missing = [name for name in names if name not in row]
    if missing:
        raise ValueNotAllowed(
            f"{row!r:.100} has no field {missing[0]!r} of its declared type: name all of {list(names)}"
        )
    return Row.of(row.get_fields_by_names(names), names, row.get_row_kind())


def _items(element: TypeInformation) -> Change | None:
    each = change_of(element)
    if each is None or element.kind is TypeKind.BYTE:
        return None

    def change(value: object) -> object:
        return [None if item is None else each(item) for item in value] if isinstance(value, list | tuple) else value

    return change


def _entries(key_type: TypeInformation, value_type: TypeInformation) -> Change | None:
    keys, values = change_of(key_type), change_of(value_type)
    if keys is None and values is None:
        return None

    def change(value: object) -> object:
        if not isinstance(value, dict):
            return value
        return {
            (key if keys is None else keys(key)): (item if values is None else values(item))
            for key, item in value.items()
        }

    return change
