"""Templates of sentences: text with the fields of a fact, and parts that depend on them.

``{rows:count record}``
    A column, and how to write it (``FORMATS`` in ``fields.py``). A column of the format's name needs no format: ``{key}``.
``[A|B]``
    The first alternative that applies; nothing if none does. An alternative applies if its guard holds and none of its own
    fields is empty: ``[, key {key}]``. Guards are ``paused?``, for a number that is not 0, ``credits>=0?``,
    ``kind=DATA?``, for the member of a column's enum, and ``window_start<window_end?``.

The viewer of reports gets the parsed templates and fills them in with its own facts.
"""

from __future__ import annotations

import re
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from flowsim.facts.table import Table

_FIELD: Final = re.compile(r"\{(\w+)(?::([a-z_,]+)(?: ([^{}]+))?)?\}")
_GUARD: Final = re.compile(r"(\w+)(?:(=|!=|<|>=)(-?\w+))?\?")
_LITERAL: Final = re.compile(r"[^][{}|]+")


@dataclass(frozen=True, slots=True)
class Field:
    """A column in a format; ``text``: the format's argument, such as a noun."""

    column: str
    format: str
    text: str


@dataclass(frozen=True, slots=True)
class Guard:
    """A comparison of a column with a number, another column or a text."""

    column: str
    comparison: str
    other: int | str


@dataclass(frozen=True, slots=True)
class Alternative:
    guard: Guard | None
    parts: Template


@dataclass(frozen=True, slots=True)
class Choice:
    alternatives: tuple[Alternative, ...]


Part: TypeAlias = "str | Field | Choice"
Template: TypeAlias = tuple[Part, ...]


def parsed(text: str, table: Table) -> Template:
    """Parses a template for the facts of a table. Raises ValueError if it is malformed."""
    parts, end = _parts(text, 0, table)
    if end < len(text):
        raise ValueError(f"template {text!r}: unbalanced bracket at {end}")
    return parts


def _parts(text: str, at: int, table: Table) -> tuple[Template, int]:
    parts: list[Part] = []
    while at < len(text) and text[at] not in "|]":
        if text[at] == "[":
            choice, at = _choice(text, at, table)
            parts.append(choice)
        elif literal := _LITERAL.match(text, at):
            parts.append(literal.group())
            at = literal.end()
        elif field := _FIELD.match(text, at):
            column, form, argument = field.groups()
            parts.append(Field(column, form or column, argument or ""))
            at = field.end()
        else:
            raise ValueError(f"template {text!r}: no field at {at}")
    return tuple(parts), at


def _choice(text: str, at: int, table: Table) -> tuple[Choice, int]:
    alternatives: list[Alternative] = []
    while text[at] != "]":
        at += 1
        guard = None
        if guard_text := _GUARD.match(text, at):
            guard = _guard(table, *guard_text.groups())
            at = guard_text.end()
        parts, at = _parts(text, at, table)
        alternatives.append(Alternative(guard, parts))
        if at == len(text):
            raise ValueError(f"template {text!r}: a bracket is not closed")
    return Choice(tuple(alternatives)), at + 1


def _guard(table: Table, column: str, comparison: str | None, other: str | None) -> Guard:
    if comparison is None or other is None:
        return Guard(column, "!=", 0)
    members = next((each.values for each in table.columns if each.name == column), None)
    if members is not None and other in members.__members__:
        return Guard(column, comparison, int(members[other]))
    return Guard(column, comparison, int(other) if other.lstrip("-").isdecimal() else other)


def as_json(template: Template) -> list[Any]:
    """Returns a template as the viewer reads it."""
    return [_part_as_json(part) for part in template]


def _part_as_json(part: Part) -> Any:
    match part:
        case str():
            return part
        case Field():
            column = {} if part.column == part.format else {"column": part.column}
            return {"format": part.format, **column, **({"text": part.text} if part.text else {})}
        case Choice():
            return [
                {**({} if each.guard is None else {"guard": astuple(each.guard)}), "parts": as_json(each.parts)}
                for each in part.alternatives
            ]
