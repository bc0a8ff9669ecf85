"""Templates as functions of a row: columns are looked up once, not for each fact."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from itertools import compress
from typing import Final, TypeAlias

from flowsim.facts.table import Table
from flowsim.trace.fields import Places, Row, Text, property_reader, reader_of
from flowsim.trace.names import Names
from flowsim.trace.template import Alternative, Choice, Field, Guard, Part, Template

Holds: TypeAlias = Callable[[Names, Row], bool]

_COMPARISONS: Final[Mapping[str, Callable[[int, int], bool]]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">=": operator.ge,
}
# A function for each comparison: to pass the comparison as an argument makes the trace of a large run slower.
_GUARDS: Final[Mapping[str, Callable[[int, int], Holds]]] = {
    "=": lambda place, other: lambda _, row: row[place] == other,
    "!=": lambda place, other: lambda _, row: row[place] != other,
    "<": lambda place, other: lambda _, row: row[place] < other,
    ">=": lambda place, other: lambda _, row: row[place] >= other,
}


class CompiledTemplates:
    """Compiles templates for the rows of one table; ``known``: columns with the same value in all rows."""

    def __init__(self, table: Table, known: Mapping[str, int]) -> None:
        self._places: Places = {name: place for place, name in enumerate((*table.names, "depth"))}
        self._members = {column.name: frozenset(column.values) for column in table.columns if column.values is not None}
        self._known = known

    def compiled(self, template: Template) -> Text:
        """Returns the function that fills in a template; it raises LookupError for a number that is out of range."""
        pattern, readers, _ = self._split(template)
        if not readers:
            constant = pattern % ()
            return lambda names, row: constant
        return lambda names, row: pattern % tuple([read(names, row) for read in readers])

    def _split(self, template: Template) -> tuple[str, list[Text], list[bool]]:
        """Returns a pattern for the operator %, what fills it in, and which of these are fields."""
        pattern, readers, fields = "", [], []
        for part in self._without_decided(template):
            match part:
                case str():
                    pattern += part.replace("%", "%%")
                case Field():
                    readers.append(reader_of(part, self._places))
                case Choice():
                    readers.append(self._choice(part))
            if not isinstance(part, str):
                pattern += "%s"
                fields.append(isinstance(part, Field))
        return pattern, readers, fields

    def _without_decided(self, template: Template) -> Iterator[Part]:
        """Replaces each choice that the known columns decide by its text."""
        for part in template:
            if not isinstance(part, Choice):
                yield part
                continue
            alternatives = tuple(
                Alternative(None, each.parts) if decided else each
                for each in part.alternatives
                for decided in [each.guard is not None and self._decided(each.guard)]
                if decided is not False or each.guard is None
            )
            if not alternatives:
                continue
            first = alternatives[0]
            if first.guard is None and not any(isinstance(each, Field) for each in first.parts):
                yield from self._without_decided(first.parts)
            else:
                yield Choice(alternatives)

    def _decided(self, guard: Guard) -> bool | None:
        """Whether the guard holds in every row; None: that differs by row."""
        if guard.column not in self._known or isinstance(guard.other, str):
            return None
        return _COMPARISONS[guard.comparison](self._known[guard.column], guard.other)

    def _choice(self, choice: Choice) -> Text:
        alternatives = [
            (None if each.guard is None else self._guard(each.guard), *self._split(each.parts))
            for each in choice.alternatives
        ]

        def text(names: Names, row: Row) -> str:
            for holds, pattern, readers, fields in alternatives:
                if holds is not None and not holds(names, row):
                    continue
                if not readers:
                    return pattern % ()
                texts = [read(names, row) for read in readers]
                if "" not in texts or "" not in compress(texts, fields):
                    return pattern % tuple(texts)
            return ""

        return text

    def _guard(self, guard: Guard) -> Holds:
        other = guard.other
        if guard.column not in self._places:
            read = property_reader(guard.column, self._places)
            return lambda names, row: read(names, row) == other
        place = self._places[guard.column]
        if isinstance(other, str):
            end = self._places[other]
            return lambda _, row: row[place] < row[end]
        members = self._members.get(guard.column)
        if members is None:
            return _GUARDS[guard.comparison](place, other)
        compare = _COMPARISONS[guard.comparison]
        holds = {int(member): compare(member, other) for member in members}
        return lambda _, row: holds[row[place]]
