"""Turns record values into rows of declared columns, refusing what does not fit."""

from __future__ import annotations

from collections.abc import Mapping

from flowsim.connectors.columns import Column, ColumnType
from flowsim.errors import ValueNotAllowed
from flowsim.values import Row


class RowLayout:
    """The columns of a sink. A value is a tuple, list or Row of the fields in order, a dict by name, or the only field.

    Types are exact (a bool is no int, an int no double); None is allowed in every column.
    """

    def __init__(self, columns: tuple[Column, ...], owner: str) -> None:
        self.columns = columns
        self.owner = owner
        self._fine: set[tuple[type, ...]] = set()
        self._int_indexes = tuple(i for i, column in enumerate(columns) if column.type is ColumnType.INT)

    def row(self, value: object) -> tuple[object, ...]:
        """The fields of one value; raises ValueNotAllowed naming the sink, the column and the value."""
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
                f"{self.owner}: expected {len(self.columns)} fields ({names}), got {len(fields)} in {_shown(value)}"
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
