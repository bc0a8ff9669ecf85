"""Equality of record values: of the same type, and NaN equals NaN."""

from __future__ import annotations

from flowsim.errors import ValueNotAllowed
from flowsim.values.closed_set import is_closed
from flowsim.values.encoding import encode_value
from flowsim.values.row import Row


def are_equal(one: object, other: object) -> bool:
    """Returns True if the values are equal; 1, 1.0 and True differ, also directly inside a list or tuple.

    >>> are_equal([1, float("nan")], [1, float("nan")]), are_equal([1], [True])
    (True, False)
    """
    if one is other:
        return True
    kind = type(one)
    if kind is not type(other):
        return False
    if one == other:
        if isinstance(one, list | tuple) and isinstance(other, list | tuple):
            return list(map(type, one)) == list(map(type, other))
        return True
    return _are_equal_inside(one, other)


def _are_equal_inside(one: object, other: object) -> bool:
    """Compares values that Python finds different: they may contain NaN."""
    if isinstance(one, float) and isinstance(other, float):
        return one != one and other != other
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(are_equal, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return list(one) == list(other) and all(map(are_equal, one.values(), other.values()))
    if isinstance(one, Row) and isinstance(other, Row):
        same = one.field_names == other.field_names and one.get_row_kind() is other.get_row_kind()
        return same and are_equal(one.field_values, other.field_values)
    return not is_closed(one) and _have_equal_parts(one, other)


def _have_equal_parts(one: object, other: object) -> bool:
    """Compares objects whose class may compare by identity."""
    try:
        return encode_value(one) == encode_value(other)
    except ValueNotAllowed:
        return False
