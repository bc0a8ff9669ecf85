"""Copies of values, for state and for chained operators that must not see each other's changes."""

from __future__ import annotations

from flowsim.values.closed_set import SCALARS, flat_signatures
from flowsim.values.row import Row


def copy_value(value: object) -> object:
    """A deep copy; the same object where nothing inside it can change.

    Deeper than the closed set allows, or outside it, the same object is returned as it is.
    """
    kind = type(value)
    if kind in SCALARS:
        return value
    if isinstance(value, tuple):
        if tuple(map(type, value)) in flat_signatures or SCALARS.issuperset(map(type, value)):
            return value
        items = tuple(map(copy_value, value))
        return items if any(map(_is_not, items, value)) else value
    if isinstance(value, list):
        return list(map(copy_value, value))
    if isinstance(value, dict):
        return {key: copy_value(item) for key, item in value.items()}
    if isinstance(value, Row):
        items = tuple(map(copy_value, value.field_values))
        return Row.of(items, value.field_names) if any(map(_is_not, items, value.field_values)) else value
    return value


def _is_not(a: object, b: object) -> bool:
    return a is not b
