"""The fields that a compiled expression reads, so that an error can name those that are null."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

_READS: Final = "_fields_read"
"""In the globals of a compiled function, which are its own: the frames of a traceback have them."""


def declare_reads(function: Callable[..., object], fields: Mapping[str, int]) -> None:
    """Declares the fields that a function reads, with their places in the record. Its globals must be its own."""
    namespace: dict[str, object] = getattr(function, "__globals__", {})
    namespace[_READS] = dict(fields)


def null_fields(function: Callable[..., object] | None, value: object) -> list[str]:
    """Names of the null fields of a record that a function reads; empty if it declares none."""
    return null_fields_of(getattr(function, "__globals__", {}), value)


def null_fields_of(namespace: Mapping[str, object], value: object) -> list[str]:
    """The same for the globals of a function."""
    fields = namespace.get(_READS)
    if not isinstance(fields, dict) or not isinstance(value, tuple):
        return []
    return [name for name, place in fields.items() if place < len(value) and value[place] is None]


def named(fields: list[str]) -> str:
    """The fields in a message.

    >>> named(["a"]), named(["a", "b"])
    ("field 'a' is null", "fields 'a', 'b' are null")
    """
    names = ", ".join(repr(name) for name in fields)
    return f"field {names} is null" if len(fields) == 1 else f"fields {names} are null"
