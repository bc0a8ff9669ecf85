"""Columns of a file and their types, the layout of rows, and files of rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final, Protocol

from flowsim.connectors.files.input_file import InputFile
from flowsim.errors import BadInput, ValueNotAllowed, did_you_mean
from flowsim.quantities import count_text
from flowsim.values.closed_set import encodes
from flowsim.values.row import Row


class ColumnType(Enum):
    """The types of a column, with the names of PyFlink's ``Types`` in lower case."""

    STRING = "string"
    INT = "int"
    LONG = "long"
    DOUBLE = "double"
    BOOLEAN = "boolean"

    @property
    def expects(self) -> str:
        """The description of the expected input, for error messages."""
        return _EXPECTS[self]

    @property
    def python_type(self) -> type:
        """The exact Python type of the column's values."""
        return _PYTHON_TYPES[self]

    def holds(self, value: object) -> bool:
        """Returns True if the value has exactly this type.

        A bool is not an int, an int is not a double, and a text with a lone surrogate is not a string.
        """
        if type(value) is not _PYTHON_TYPES[self]:
            return False
        if isinstance(value, str):
            return value.isascii() or encodes(value)
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
    """Returns the declared columns in order.

    Raises BadInput, naming ``owner`` and the most similar type, for an unknown type.
    """
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
                + did_you_mean(str(type_name), allowed, is_listed=True)
            ) from None
    return tuple(columns)


class RowLayout:
    """The columns of a sink. A value is a tuple, list or Row of the fields in order, a dict by name, or the only field.

    Types are exact (a bool is not an int, an int not a double); None is allowed in every column.
    """

    def __init__(self, columns: tuple[Column, ...], owner: str) -> None:
        self.columns = columns
        self.owner = owner
        self._fine: set[tuple[type, ...]] = set()
        self._int_indexes = tuple(i for i, column in enumerate(columns) if column.type is ColumnType.INT)

    def row(self, value: object) -> tuple[object, ...]:
        """Returns the fields of one value. Raises ValueNotAllowed naming the sink, the column and the value."""
        fields = value if type(value) is tuple else self._fields(value)
        signature = tuple(map(type, fields))
        if signature not in self._fine:
            self._check(fields, value)
            self._fine.add(signature)
        for index in self._int_indexes:
            number = fields[index]
            if number is not None and not ColumnType.INT.holds(number):
                raise self._refusal(self.columns[index], number, value)
        return fields

    def _fields(self, value: object) -> tuple[object, ...]:
        if isinstance(value, Row | list):
            return tuple(value)
        if isinstance(value, Mapping):
            names = [column.name for column in self.columns]
            if sorted(map(str, value)) != sorted(names):
                raise ValueNotAllowed(
                    f"{self.owner}: expected the fields {', '.join(names)}, got {', '.join(map(str, value))}"
                )
            return tuple(value[name] for name in names)
        return (value,)

    def _check(self, fields: tuple[object, ...], value: object) -> None:
        if len(fields) != len(self.columns):
            names = ", ".join(column.name for column in self.columns)
            raise ValueNotAllowed(
                f"{self.owner}: expected {count_text(len(self.columns), 'field')} ({names}), got {len(fields)} in {_shown(value)}"
            )
        for column, field in zip(self.columns, fields, strict=True):
            if field is not None and type(field) is not column.type.python_type:
                raise self._refusal(column, field, value)

    def _refusal(self, column: Column, field: object, value: object) -> ValueNotAllowed:
        return ValueNotAllowed(
            f"{self.owner}: column {column.name!r}: expected {column.type.expects}, "
            f"got {_shown(field)} ({type(field).__name__}) in {_shown(value)}"
        )


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 120 else text[:120] + "..."


Rows = list[tuple[object, ...]]


class RowFile(Protocol):
    """One file of rows. A row is a tuple of the declared columns, in declared order."""

    file: InputFile
    path: str
    columns: tuple[Column, ...]

    def check(self) -> None:
        """Raises BadInput if the file cannot be read or lacks a declared column."""

    def place_of_row(self, row: int) -> str | None:
        """File, without folder, and line or row of row ``row`` of ``blocks``, counted from 0; None if it is unknown."""

    def blocks(self, first_row: int = 0) -> Iterator[Rows]:
        """Yields blocks of rows in file order, from row ``first_row`` on, counted from 0.

        Raises BadInput at the first row that does not match the declaration.
        """


def reason_of(error: Exception) -> str:
    """Returns the cause of an error, in one line."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return (str(error) or type(error).__name__).splitlines()[0]
