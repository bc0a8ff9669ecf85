"""Reads and replaces one field of a record, by name or position. Flink: FieldAccessor, FieldAccessorFactory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from flowsim.errors import BadInput
from flowsim.quantities import count_text
from flowsim.values.row import Row
from flowsim.values.types import TypeInformation, TypeKind

Field = int | str
"""The position or the name of a field. The name ``*`` is the record itself, ``f0`` the first field of a tuple."""

_ITSELF: Final = "*"
_CONTAINERS: Final = (TypeKind.TUPLE, TypeKind.ROW)
_ARRAYS: Final = (TypeKind.LIST, TypeKind.PRIMITIVE_ARRAY, TypeKind.BASIC_ARRAY, TypeKind.OBJECT_ARRAY)


class FieldAccessor:
    """One field of all records of a stream. Flink: FieldAccessor.

    Raises BadInput if the declared type has no such field, and later for a record without the field.
    """

    __slots__ = ("_field", "_what", "field_type")

    field_type: TypeInformation | None
    """The declared type of the field, or None."""

    def __init__(self, field: Field, declared: TypeInformation | None, what: str) -> None:
        if isinstance(field, bool) or not isinstance(field, int | str):
            raise BadInput(f"{what}: expected the position or the name of a field, got {field!r:.60}")
        self._field: Field = field
        self._what = what
        self.field_type = None if declared is None else self._declared_type(declared)

    def get(self, record: object) -> object:
        """Returns the field of a record."""
        match record:
            case tuple():
                return record[self._index(len(record), None, "a tuple")]
            case Row():
                return record.field_values[self._index_in_row(record)]
            case list():
                return record[self._index(len(record), None, "a list")]
            case dict():
                return record[self._name_in(record)]
            case _:
                self._check_itself(type(record).__name__)
                return record

    def set(self, record: object, value: object) -> object:
        """Returns a copy of the record with another value of the field."""
        match record:
            case tuple():
                return _replaced(record, self._index(len(record), None, "a tuple"), value)
            case Row():
                changed = _replaced(record.field_values, self._index_in_row(record), value)
                return Row.of(changed, record.field_names, record.get_row_kind())
            case list():
                return list(_replaced(tuple(record), self._index(len(record), None, "a list"), value))
            case dict():
                return {**record, self._name_in(record): value}
            case _:
                self._check_itself(type(record).__name__)
                return value

    def _declared_type(self, declared: TypeInformation) -> TypeInformation | None:
        if declared.kind in _CONTAINERS and declared.arguments:
            names = declared.get_field_names()
            self._field = index = self._index(len(names), names, declared.name)
            return declared.arguments[index]
        if declared.kind in _CONTAINERS or declared.kind in (TypeKind.MAP, TypeKind.PICKLED_BYTE_ARRAY):
            return declared.arguments[1] if declared.kind is TypeKind.MAP else None
        if declared.kind in _ARRAYS:
            return declared.arguments[0]
        self._check_itself(declared.name)
        return declared

    def _index(self, count: int, names: Sequence[str] | None, of: str) -> int:
        field = self._field
        if isinstance(field, int):
            if 0 <= field < count:
                return field
            raise BadInput(
                f"{self._what}: {of} of {count_text(count, 'field')} has no field {field}: expected 0 to {count - 1}"
            )
        known = [f"f{index}" for index in range(count)] if names is None else names
        if field not in known:
            raise BadInput(f"{self._what}: {of} has no field {field!r}: expected one of {', '.join(known)}")
        return list(known).index(field)

    def _index_in_row(self, row: Row) -> int:
        return self._index(len(row.field_values), row.field_names, "a row")

    def _name_in(self, record: dict[object, object]) -> Field:
        if self._field not in record:
            known = ", ".join(map(str, record))
            raise BadInput(f"{self._what}: a record has no field {self._field!r}: expected one of {known}")
        return self._field

    def _check_itself(self, of: str) -> None:
        if self._field not in (0, _ITSELF):
            raise BadInput(
                f"{self._what}: a record of type {of} has no field {self._field!r}: it has only itself, position 0 or '*'"
            )


def _replaced(fields: tuple[object, ...], index: int, value: object) -> tuple[object, ...]:
    return (*fields[:index], value, *fields[index + 1 :])
