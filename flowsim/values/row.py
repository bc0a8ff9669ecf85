"""A row: values by position, optionally with field names. Flink: Row; the contract is that of PyFlink's ``Row``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Final, Self

from flowsim.quantities import count_text


class RowKind(Enum):
    """What a row does in a changelog; its text is Flink's short form, such as ``+I``. Flink: RowKind."""

    INSERT = 0
    UPDATE_BEFORE = 1
    UPDATE_AFTER = 2
    DELETE = 3

    def __str__(self) -> str:
        return ("+I", "-U", "+U", "-D")[self.value]


_INSERT: Final = RowKind.INSERT


class Row:
    """A sequence of values, with field names when it was built from keywords, in their order. Flink: Row.

    Rows with the same names are equal whatever their order. ``in`` looks for a name, and for a value without names.

    >>> row = Row(name="ada", age=36)
    >>> row["name"], row.age, row[0], "name" in row
    ('ada', 36, 'ada', True)
    >>> Person = Row("name", "age")
    >>> Person("ada", 36), Person
    (Row(name='ada', age=36), <Row('name', 'age')>)
    """

    __slots__ = ("_values", "_fields", "_kind")

    _values: tuple[object, ...]
    _fields: tuple[str, ...] | None
    _kind: RowKind

    def __init__(self, *args: object, **kwargs: object) -> None:
        if args and kwargs:
            raise ValueError("a Row takes values either by position or by name, not both")
        object.__setattr__(self, "_values", tuple(kwargs.values()) if kwargs else args)
        object.__setattr__(self, "_fields", tuple(kwargs) or None)
        object.__setattr__(self, "_kind", _INSERT)

    @classmethod
    def of(
        cls, values: Sequence[object], field_names: Sequence[str] | None = None, kind: RowKind = RowKind.INSERT
    ) -> Self:
        """Returns a row of these values, with names if given.

        Raises ValueError if the counts differ or a name repeats.
        """
        row = cls(*values)
        if kind is not _INSERT:
            row.set_row_kind(kind)
        return row if field_names is None else row._named(field_names)

    @staticmethod
    def of_kind(row_kind: RowKind, *args: object, **kwargs: object) -> Row:
        """Returns a row of this kind."""
        row = Row(*args, **kwargs)
        row.set_row_kind(row_kind)
        return row

    def _named(self, names: Sequence[object]) -> Self:
        if len(names) != len(self._values):
            raise ValueError(
                f"a Row of {count_text(len(self._values), 'value')} takes as many field names, got {len(names)}"
            )
        fields = tuple(name for name in names if type(name) is str)
        if len(set(fields)) != len(names):
            raise ValueError(f"field names of a Row are distinct strings, got {list(names)!r}")
        object.__setattr__(self, "_fields", fields)
        return self

    def __call__(self, *args: object) -> Row:
        """Uses this row of strings as the names of a new row: ``Row("name", "age")("ada", 36)``."""
        return Row(*args)._named(self._values)

    def get_row_kind(self) -> RowKind:
        return self._kind

    def set_row_kind(self, row_kind: RowKind) -> None:
        object.__setattr__(self, "_kind", row_kind)

    def set_field_names(self, field_names: Sequence[str]) -> None:
        """Names the fields; raises ValueError if the counts differ or a name repeats."""
        self._named(field_names)

    @property
    def field_values(self) -> tuple[object, ...]:
        """Returns the values in order of position."""
        return self._values

    @property
    def field_names(self) -> tuple[str, ...] | None:
        """Returns the names in order of position; None for a row without names."""
        return self._fields

    def as_dict(self, recursive: bool = False) -> dict[str, object]:
        """Returns a dict from name to value; with ``recursive`` also of nested named rows.

        Raises TypeError for a row without names.
        """
        if self._fields is None:
            raise TypeError("a Row without field names cannot become a dict: build it as Row(name=value, ...)")
        pairs = zip(self._fields, self._values, strict=True)
        if not recursive:
            return dict(pairs)
        return {name: _as_dict(value) for name, value in pairs}

    def get_fields_by_names(self, names: Sequence[str]) -> list[object]:
        """Returns the values of these fields, all of a row without names; raises KeyError for an unknown name."""
        return list(self._values) if self._fields is None else [self[name] for name in names]

    def __getitem__(self, index: int | str | slice) -> object:
        if isinstance(index, slice):
            return list(self._values[index])
        if type(index) is not str:
            return self._values[int(index)]
        return self._values[self._position(index)]

    def __setitem__(self, index: int | str | slice, value: object) -> None:
        """Sets a field by position or name, or several by a slice."""
        values: list[object] = list(self._values)
        if isinstance(index, slice):
            values[index] = value  # type: ignore[call-overload]
        else:
            values[self._position(index) if type(index) is str else int(index)] = value
        object.__setattr__(self, "_values", tuple(values))

    def _position(self, name: str) -> int:
        if self._fields is None or name not in self._fields:
            raise KeyError(f"no field {name!r} in {self!r}")
        return self._fields.index(name)

    def __getattr__(self, name: str) -> object:
        if name.startswith("__") or self._fields is None or name not in self._fields:
            raise AttributeError(f"no field {name!r} in this Row")
        return self._values[self._fields.index(name)]

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Row has no attributes to set: use row[{name!r}] = value")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("a Row has no attributes to delete")

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[object]:
        return iter(self._values)

    def __contains__(self, value: object) -> bool:
        return value in (self._values if self._fields is None else self._fields)

    def __eq__(self, other: object) -> bool:
        if type(other) is not Row:
            return NotImplemented
        if self._kind is not other._kind:
            return False
        if self._fields == other._fields:
            return self._values == other._values
        if self._fields is None or other._fields is None or sorted(self._fields) != sorted(other._fields):
            return False
        return list(self._values) == other.get_fields_by_names(self._fields)

    def __hash__(self) -> int:
        # Only for dicts in memory: Python salts the hash per process. values.java_hash_code computes Flink's hash.
        return self._values.__hash__()

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (self._values, self._fields, self._kind)

    def __repr__(self) -> str:
        if self._fields is None:
            return f"<Row({', '.join(map(repr, self._values))})>"
        return f"Row({', '.join(f'{n}={v!r}' for n, v in zip(self._fields, self._values, strict=True))})"


def _rebuild(values: tuple[object, ...], fields: tuple[str, ...] | None, kind: RowKind) -> Row:
    return Row.of(values, fields, kind)


def _as_dict(value: object) -> object:
    if type(value) is Row and value.field_names is not None:
        return value.as_dict(recursive=True)
    if type(value) is list:
        return [_as_dict(item) for item in value]
    if type(value) is tuple:
        return tuple(_as_dict(item) for item in value)
    if type(value) is dict:
        return {key: _as_dict(item) for key, item in value.items()}
    return value
