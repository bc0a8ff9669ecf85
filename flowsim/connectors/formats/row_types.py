"""What the formats of rows have in common: the declared fields, and numbers in text as Java parses them."""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from typing import Final

from flowsim.errors import BadInput
from flowsim.values.row import Row
from flowsim.values.types import TypeInformation, TypeKind

BITS: Final[Mapping[TypeKind, int]] = {TypeKind.BYTE: 8, TypeKind.SHORT: 16, TypeKind.INT: 32, TypeKind.LONG: 64}
_FLOAT: Final = re.compile(r"[+-]?(NaN|Infinity|([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[dDfF]?)")
_INTEGER: Final = re.compile(r"[+-]?[0-9]+")


def checked_row_type(type_info: object, owner: str) -> TypeInformation:
    """Returns the declared type of rows; raises BadInput for another one."""
    if not isinstance(type_info, TypeInformation) or type_info.kind is not TypeKind.ROW:
        raise BadInput(f"{owner}: expected a row type such as Types.ROW_NAMED([...], [...]), got {type_info!s:.60}")
    return type_info


def row_of(type_info: TypeInformation, values: list[object]) -> Row:
    """Returns a row with the names of its type."""
    return Row.of(values, type_info.get_field_names())


def fields_of(value: object, type_info: TypeInformation, owner: str, *, more: bool = False) -> tuple[object, ...]:
    """Returns the fields of a row or tuple. Raises BadInput unless it has those of the type; ``more``: or further ones."""
    expected = len(type_info.arguments)
    fields = tuple(value)[: expected if more else None] if isinstance(value, Row | tuple) else None
    if fields is None or len(fields) != expected:
        raise BadInput(f"{owner}: expected a row of type {type_info}, got {value!r:.100}")
    return fields


def integer_of(text: str, kind: TypeKind) -> int:
    """Returns an integer of a kind, or raises ValueError. Java: Integer.parseInt."""
    number = int(text) if _INTEGER.fullmatch(text) else None
    if number is None or not -(1 << BITS[kind] - 1) <= number < 1 << BITS[kind] - 1:
        raise ValueError(f"expected {kind.value}, got {text!r:.40}")
    return number


def float_of(text: str, kind: TypeKind) -> float:
    """Returns a number of a kind, or raises ValueError. Java: Double.parseDouble."""
    if not _FLOAT.fullmatch(text):
        raise ValueError(f"expected {kind.value}, got {text!r:.40}")
    number = float(text.rstrip("dDfF"))
    if kind is TypeKind.DOUBLE:
        return number
    try:
        narrowed: float = struct.unpack(">f", struct.pack(">f", number))[0]
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")
    return narrowed


def is_bytes(type_info: TypeInformation) -> bool:
    """True for an array of primitive bytes."""
    return type_info.kind is TypeKind.PRIMITIVE_ARRAY and type_info.arguments[0].kind is TypeKind.BYTE
