"""JSON files of recordings and checkpoints as typed objects."""

from __future__ import annotations

import re
from typing import Final, TypeVar

import msgspec

from flowsim.garbage_collection import without_garbage_collection

T = TypeVar("T")

_PLACE: Final = re.compile(r"(?s)(.*) - at `(?:key in )?\$\.?(.*)`")


def decoded(content: bytes, kind: type[T]) -> T:
    """Decodes JSON of a stranger. Raises ValueError that names the first place with another type or value."""
    try:
        with without_garbage_collection():
            return msgspec.json.decode(content, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(str(error)) from None


def encoded(value: object) -> bytes:
    """Returns the content of a file for people: indented, with a line end."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"


def place_and_reason(error: ValueError) -> str:
    """Returns the text of an error of ``decoded`` with its place first.

    >>> place_and_reason(ValueError("Expected `int`, got `str` - at `$.rows[0]`"))
    'rows[0]: Expected `int`, got `str`'
    """
    found = _PLACE.fullmatch(str(error))
    reason, place = (str(error), "") if found is None else found.groups()
    return f"{place or 'file'}: {reason}"
