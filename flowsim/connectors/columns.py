"""Named, typed columns: what files and generated rows are declared with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum
from typing import Final

from flowsim.errors import BadInput


class ColumnType(Enum):
    """The types a column may have; the names are those of PyFlink's ``Types``, in lower case."""

    STRING = "string"
    INT = "int"
    LONG = "long"
    DOUBLE = "double"
    BOOLEAN = "boolean"

    @property
    def expects(self) -> str:
        """What a reader of an error message is told to write."""
        return _EXPECTS[self]

    @property
    def python_type(self) -> type:
        """The exact type of its values."""
        return _PYTHON_TYPES[self]

    def holds(self, value: object) -> bool:
        """Whether it is a value of this type, exactly: a bool is no int, an int no double."""
        if type(value) is not _PYTHON_TYPES[self]:
            return False
        limits = _RANGES.get(self)
        return limits is None or value in limits


_EXPECTS: Final = {
    ColumnType.STRING: "text",
    ColumnType.INT: f"an int ({-(2**31)} to {2**31 - 1})",
    ColumnType.LONG: f"a long ({-(2**63)} to {2**63 - 1})",
    ColumnType.DOUBLE: "a double",
    ColumnType.BOOLEAN: "a boolean (true or false)",
}


_PYTHON_TYPES: Final[dict[ColumnType, type]] = {
    ColumnType.STRING: str,
    ColumnType.INT: int,
    ColumnType.LONG: int,
    ColumnType.DOUBLE: float,
    ColumnType.BOOLEAN: bool,
}
_RANGES: Final = {ColumnType.INT: range(-(2**31), 2**31), ColumnType.LONG: range(-(2**63), 2**63)}


@dataclass(frozen=True, slots=True)
class Column:
    """One declared column."""

    name: str
    type: ColumnType


def columns_of(declared: Mapping[str, str], owner: str) -> tuple[Column, ...]:
    """The declared columns in their order; raises BadInput naming ``owner`` and the nearest type for an unknown one."""
    if not declared:
        raise BadInput(f"{owner}: expected at least one column, got none")
    columns = []
    for name, type_name in declared.items():
        try:
            columns.append(Column(name, ColumnType(type_name)))
        except ValueError:
            allowed = [known.value for known in ColumnType]
            raise BadInput(
                f"{owner}: column {name!r}: expected a type of {', '.join(allowed)}, got {type_name!r}"
                + nearest(str(type_name), allowed)
            ) from None
    return tuple(columns)


def nearest(wrong: str, allowed: Sequence[str]) -> str:
    """``" (nearest: 'x')"`` for the allowed name most like ``wrong``, or nothing."""
    found = get_close_matches(wrong, allowed, n=1)
    return f" (nearest: {found[0]!r})" if found else ""
