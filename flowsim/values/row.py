"""A row: values by position, optionally with field names. Flink: Row; the arguments are those of PyFlink's ``Row``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Self

from flowsim.quantities import count_text

if TYPE_CHECKING:
    from typing import Never


class Row:
    """An immutable sequence of values, with field names when it was built from keywords. Flink: Row.

    Unlike Flink's it has no RowKind (changelogs belong to the Table API) and is immutable.

    >>> row = Row(name="ada", age=36)
    >>> row["name"], row.age, row[1]
    ('ada', 36, 36)
    >>> Person = Row("name", "age")
    >>> Person("ada", 36) == row
    True
    """

    __slots__ = ("_values", "_fields")

    _values: tuple[object, ...]
    _fields: tuple[str, ...] | None

    def __init__(self, *args: object, **kwargs: object) -> None:
        if args and kwargs:
            raise ValueError("a Row takes values either by position or by name, not both")
        object.__setattr__(self, "_values", args if not kwargs else tuple(kwargs.values()))
        object.__setattr__(self, "_fields", tuple(kwargs) if kwargs else None)

    @classmethod
    def of(cls, values: Sequence[object], field_names: Sequence[str] | None = None) -> Self:
        """Returns a row of these values, with names if given.

        Raises ValueError if the counts differ or a name repeats.
        """
        row = cls(*values)
        return row if field_names is None else row._named(field_names)

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
        """Returns the values of these fields; raises KeyError for an unknown name."""
        return [self[name] for name in names]

    def __getitem__(self, index: int | str) -> object:
        if type(index) is not str:
            return self._values[int(index)]
        if self._fields is None or index not in self._fields:
            raise KeyError(f"no field {index!r} in {self!r}")
        return self._values[self._fields.index(index)]

    def __getattr__(self, name: str) -> object:
        if name.startswith("__") or self._fields is None or name not in self._fields:
            raise AttributeError(f"no field {name!r} in this Row")
        return self._values[self._fields.index(name)]

    def __setattr__(self, name: str, value: object) -> Never:
        raise AttributeError("a Row is immutable: build a new one")

    def __delattr__(self, name: str) -> Never:
        raise AttributeError("a Row is immutable: build a new one")

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[object]:
        return iter(self._values)

    def __contains__(self, value: object) -> bool:
        return value in self._values

    def __eq__(self, other: object) -> bool:
        if type(other) is not Row:
            return NotImplemented
        return self._fields == other._fields and self._values == other._values

    def __hash__(self) -> int:
        # Only for dicts in memory: Python salts the hash per process. values.java_hash_code computes Flink's hash.
        return self._values.__hash__()

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (self._values, self._fields)

    def __repr__(self) -> str:
        if self._fields is None:
            return f"Row({', '.join(map(repr, self._values))})"
        return f"Row({', '.join(f'{n}={v!r}' for n, v in zip(self._fields, self._values, strict=True))})"


def _rebuild(values: tuple[object, ...], fields: tuple[str, ...] | None) -> Row:
    return Row.of(values, fields)


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
