"""The record values: checks and copies.

The closed set are the values that a channel encodes directly. Other objects are record values if pickle could store them.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_not
from typing import Final

from flowsim.errors import ValueNotAllowed
from flowsim.values.objects import copied, parts_of
from flowsim.values.row import Row

MAX_DEPTH: Final = 100
"""The maximum depth of nested containers."""

INT_MIN: Final = -(2**63)

INT_MAX: Final = 2**63 - 1

SCALARS: Final = frozenset((type(None), bool, int, float, str, bytes))


def check(value: object) -> None:
    """Raises ValueNotAllowed, naming the position inside ``value``, for what cannot be a record value."""
    if type(value) is int and INT_MIN <= value <= INT_MAX:
        return
    if not _allowed(value, 0):
        _explain(value, "value", 0)


def is_closed(value: object) -> bool:
    """Returns True if the value is in the closed set."""
    return _allowed(value, 0)


def _allowed(value: object, depth: int) -> bool:
    """Returns True in the closed set; apart from ``_explain``, because computing positions takes time."""
    if depth >= MAX_DEPTH:
        return False
    if type(value) is tuple or type(value) is list:
        for item in value:
            kind = type(item)
            if kind is int:
                if not -9223372036854775808 <= item <= 9223372036854775807:
                    return False
            elif kind is str:
                if not item.isascii() and not encodes(item):
                    return False
            elif kind is not float and kind not in SCALARS and not _allowed(item, depth + 1):
                return False
        return True
    if type(value) is dict:
        return all(allowed_key(key, depth + 1) for key in value) and _allowed(tuple(value.values()), depth)
    if type(value) is Row:
        return _allowed(value.field_values, depth) and all(map(encodes, value.field_names or ()))
    return type(value) in SCALARS and _allowed((value,), depth)


def allowed_key(key: object, depth: int) -> bool:
    """Returns True if ``key`` may be a dict key at this ``depth``."""
    if type(key) is tuple:
        return depth < MAX_DEPTH and all(allowed_key(item, depth + 1) for item in key)
    return type(key) in SCALARS and _allowed((key,), 0)


def _explain(value: object, place: str, depth: int) -> None:
    kind = type(value)
    if kind in SCALARS:
        _check_scalar(value, place)
        return
    if depth >= MAX_DEPTH:
        raise ValueNotAllowed(f"{_start(place)}: nested more than {MAX_DEPTH} deep (or contains itself)")
    if isinstance(value, tuple | list) and kind in (tuple, list):
        for i, item in enumerate(value):
            _explain(item, f"{place}[{i}]", depth + 1)
    elif isinstance(value, dict) and kind is dict:
        for key, item in value.items():
            _explain(key, f"key of {place}", depth + 1)
            _explain(item, f"{place}[{key!r:.20}]", depth + 1)
    elif isinstance(value, Row) and kind is Row:
        for name in value.field_names or ():
            _check_scalar(name, f"field name of {place}")
        for i, item in enumerate(value.field_values):
            _explain(item, f"{place}[{i}]", depth + 1)
    else:
        _explain_object(value, place, depth)


def _explain_object(value: object, place: str, depth: int) -> None:
    try:
        parts = parts_of(value)
    except ValueNotAllowed as refused:
        raise ValueNotAllowed(
            f"{_start(place)}: {type(value).__module__}.{type(value).__qualname__} is not a record value: {refused}"
        ) from None
    fields = parts.state if isinstance(parts.state, dict) else {}
    for name, field in fields.items():
        _explain(field, f"{place}.{name}", depth + 1)
    for part in parts.content():
        if part is not fields:
            _explain(part, f"{place} ({type(value).__name__})", depth + 1)


def _check_scalar(value: object, place: str) -> None:
    if type(value) is str and not value.isascii() and not encodes(value):
        raise ValueNotAllowed(f"{_start(place)}: text with a lone surrogate cannot be encoded: {value!a:.80}")


def encodes(text: str) -> bool:
    """Returns True if the text has no lone surrogate."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _start(place: str) -> str:
    return place if len(place) <= 80 else f"{place[:80]}..."


def copy_value(value: object) -> object:
    """Returns a deep copy; the same object if it is immutable.

    A value that is nested too deeply, or that cannot be a record value, is returned unchanged.
    """
    kind = type(value)
    if kind in SCALARS:
        return value
    if kind is tuple and isinstance(value, tuple):
        for item in value:
            if type(item) not in SCALARS:
                return _copy_items(value)
        return value
    if kind is list and isinstance(value, list):
        return list(map(copy_value, value))
    if kind is dict and isinstance(value, dict):
        return {key: copy_value(item) for key, item in value.items()}
    if kind is Row and isinstance(value, Row):
        return Row.of(_copy_items(value.field_values), value.field_names, value.get_row_kind())
    return copied(value, copy_value)


def _copy_items(items: tuple[object, ...]) -> tuple[object, ...]:
    """Copies the items of a tuple; returns the same tuple if no item was copied."""
    copies = tuple(map(copy_value, items))
    return copies if any(map(is_not, copies, items)) else items


def checked_copy(value: object) -> object:
    """Checks and copies a value in one pass, as ``check`` and ``copy_value`` do.

    Raises ValueNotAllowed, naming the position, for what cannot be a record value.
    """
    try:
        if type(value) in SCALARS:
            _checked_items((value,), 0)
            return value
        return _checked_container(value, 0)
    except ValueNotAllowed:
        # Outside the closed set.
        check(value)
        return copy_value(value)


def _checked_container(value: object, depth: int) -> object:
    """Returns the copy of a container at this ``depth``; the same object if it is immutable."""
    kind = type(value)
    if depth >= MAX_DEPTH:
        raise ValueNotAllowed("nested too deep")
    if kind is list and isinstance(value, list):
        items = _checked_items(value, depth)
        return value.copy() if items is value else items
    if kind is tuple and isinstance(value, tuple):
        items = _checked_items(value, depth)
        return tuple(items) if items is not value and any(map(is_not, items, value)) else value
    if kind is dict and isinstance(value, dict):
        for key in value:
            if not (type(key) is str and key.isascii()) and not allowed_key(key, depth + 1):
                raise ValueNotAllowed("a value that cannot be a key")
        values = list(value.values())
        items = _checked_items(values, depth)
        return value.copy() if items is values else dict(zip(value, items, strict=True))
    if kind is Row and isinstance(value, Row):
        fields, names = value.field_values, value.field_names
        items = _checked_items(fields, depth)
        if names is not None and not all(map(encodes, names)):
            raise ValueNotAllowed("a field name with a lone surrogate")
        return Row.of(items, names, value.get_row_kind())
    raise ValueNotAllowed("not a record value")


def _checked_items(items: Sequence[object], depth: int) -> Sequence[object]:
    """Returns the copies of the items of a container at this ``depth``; ``items`` itself if all of them are scalars.

    Scalars are checked inline, since a call for each of them would cost more than everything else.
    """
    copies: list[object] | None = None
    for index, item in enumerate(items):
        kind = type(item)
        if kind is int:
            if item > INT_MAX or item < INT_MIN:  # type: ignore[operator]
                raise ValueNotAllowed("an int beyond 64 bits")
        elif kind is str:
            if not item.isascii() and not encodes(item):  # type: ignore[attr-defined, arg-type]
                raise ValueNotAllowed("text with a lone surrogate")
        elif kind is not float and kind not in SCALARS:
            if copies is None:
                copies = list(items)
            copies[index] = _checked_container(item, depth + 1)
    return items if copies is None else copies
