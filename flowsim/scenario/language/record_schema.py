"""The compiler's knowledge of a stream: names and types of its records' fields, in order.

Every record of a scenario is a plain tuple with statically known field names, so an expression reads a field by index.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class FieldType(Enum):
    """The type of a field, named as in ``Types`` of the DataStream API.

    ``ANY`` is any value of the closed value set.
    """

    BOOLEAN = "boolean"
    INT = "int"
    LONG = "long"
    DOUBLE = "double"
    STRING = "string"
    ANY = "any"

    @property
    def is_integer(self) -> bool:
        return self in (FieldType.INT, FieldType.LONG)

    @property
    def is_numeric(self) -> bool:
        return self in (FieldType.INT, FieldType.LONG, FieldType.DOUBLE)


@dataclass(frozen=True, slots=True)
class RecordSchema:
    """The names and types of the fields of a record; names are distinct."""

    names: tuple[str, ...]
    types: tuple[FieldType, ...]

    def __post_init__(self) -> None:
        if len(self.names) != len(self.types) or len(set(self.names)) != len(self.names):
            raise ValueError(f"a record schema needs one type per distinct name, got {self.names} and {self.types}")

    @property
    def is_of_two(self) -> bool:
        """True if this is the schema of two joined records, created by ``beside``."""
        return "." in self.names[0] if self.names else False

    def beside(self, other: RecordSchema) -> RecordSchema:
        """Returns the schema of two joined records: first this schema's fields, then the other schema's fields.

        >>> RecordSchema(("x",), (FieldType.LONG,)).beside(RecordSchema(("x",), (FieldType.STRING,))).names
        ('left.x', 'right.x')
        """
        names = [f"left.{name}" for name in self.names] + [f"right.{name}" for name in other.names]
        return RecordSchema(tuple(names), self.types + other.types)

    def index(self, name: str) -> int:
        """Returns the position of the field. Raises ValueError if the field does not exist."""
        return self.names.index(name)

    def type_of(self, name: str) -> FieldType:
        """Returns the type of the field. Raises ValueError if the field does not exist."""
        return self.types[self.names.index(name)]

    def with_fields(self, names: tuple[str, ...], types: tuple[FieldType, ...]) -> RecordSchema:
        """Returns the schema with fields added at the end; an existing name gets the new type in place."""
        merged = dict(zip(self.names, self.types, strict=True)) | dict(zip(names, types, strict=True))
        return RecordSchema(tuple(merged), tuple(merged.values()))

    def text(self) -> str:
        """Returns the fields as text for messages.

        >>> RecordSchema(("word", "n"), (FieldType.STRING, FieldType.LONG)).text()
        'word: string, n: long'
        """
        return ", ".join(f"{name}: {kind.value}" for name, kind in zip(self.names, self.types, strict=True))
