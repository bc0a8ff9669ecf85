"""Copies of values, for state and for chained operators that must not see each other's changes."""

from __future__ import annotations

from operator import is_not

from flowsim.values.closed_set import SCALARS
from flowsim.values.row import Row


def copy_value(value: object) -> object:
    """A deep copy; the same object where nothing inside it can change.

    Deeper than the closed set allows, or outside it, the same object is returned as it is.
    """
    kind = type(value)
    if kind in SCALARS:
        return value
    if isinstance(value, tuple):
        for item in value:
            if type(item) not in SCALARS:
                return _copy_items(value)
        return value
    if isinstance(value, list):
        return list(map(copy_value, value))
    if isinstance(value, dict):
        return {key: copy_value(item) for key, item in value.items()}
    if isinstance(value, Row):
        items = _copy_items(value.field_values)
        return value if items is value.field_values else Row.of(items, value.field_names)
    return value


def _copy_items(items: tuple[object, ...]) -> tuple[object, ...]:
    """The same tuple if no item had to be copied."""
    copies = tuple(map(copy_value, items))
    return copies if any(map(is_not, copies, items)) else items
