"""Declared types of values, with PyFlink's names; each has one stable text name. Flink: TypeInformation, Types.

A declared type selects the Java class of a value, and so its hash: 7 is an ``Integer`` with ``Types.INT()`` and a
``Long`` with ``Types.LONG()`` or without a declared type.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Final

from flowsim.errors import BadInput
from flowsim.quantities import count_text


class TypeKind(Enum):
    """The kinds of types; the value is the word in type names."""

    STRING = "STRING"
    BYTE = "BYTE"
    BOOLEAN = "BOOLEAN"
    SHORT = "SHORT"
    INT = "INT"
    LONG = "LONG"
    FLOAT = "FLOAT"
    DOUBLE = "DOUBLE"
    CHAR = "CHAR"
    BIG_INT = "BIG_INT"
    BIG_DEC = "BIG_DEC"
    INSTANT = "INSTANT"
    SQL_DATE = "SQL_DATE"
    SQL_TIME = "SQL_TIME"
    SQL_TIMESTAMP = "SQL_TIMESTAMP"
    PICKLED_BYTE_ARRAY = "PICKLED_BYTE_ARRAY"
    PRIMITIVE_ARRAY = "PRIMITIVE_ARRAY"
    BASIC_ARRAY = "BASIC_ARRAY"
    OBJECT_ARRAY = "OBJECT_ARRAY"
    LIST = "LIST"
    MAP = "MAP"
    TUPLE = "TUPLE"
    ROW = "ROW"
    ROW_KEY = "ROW_KEY"
    """A key as PyFlink hashes it: a Row with the key."""
    PICKLED_KEY = "PICKLED_KEY"
    """A key without a declared type as PyFlink hashes it: a Row with the pickle of the key."""


LIST_KINDS: Final = (TypeKind.LIST, TypeKind.BASIC_ARRAY, TypeKind.OBJECT_ARRAY, TypeKind.PRIMITIVE_ARRAY)
"""The kinds of types of lists."""

_ARITY: Final[dict[TypeKind, int]] = {
    TypeKind.PRIMITIVE_ARRAY: 1,
    TypeKind.BASIC_ARRAY: 1,
    TypeKind.OBJECT_ARRAY: 1,
    TypeKind.LIST: 1,
    TypeKind.ROW_KEY: 1,
    TypeKind.PICKLED_KEY: 1,
    TypeKind.MAP: 2,
}
"""Number of type arguments of each kind. TUPLE and ROW take any number; kinds that are not listed take none."""

_PLAIN_NAME: Final = re.compile(r"[A-Za-z_]\w*", re.ASCII)


@dataclass(frozen=True, slots=True)
class TypeInformation:
    """A declared type: its kind, its type arguments, and the field names of a named row. Flink: TypeInformation."""

    kind: TypeKind
    arguments: tuple[TypeInformation, ...] = ()
    field_names: tuple[str, ...] | None = None

    @property
    def name(self) -> str:
        """The text name for ``parse_type``, for example ``TUPLE<INT,STRING>`` or ``ROW<name:STRING>``."""
        word: str = self.kind.value
        if not self.arguments and self.kind not in (TypeKind.TUPLE, TypeKind.ROW):
            return word
        texts = [argument.name for argument in self.arguments]
        if self.field_names is not None:
            texts = [f"{_field_text(n)}:{text}" for n, text in zip(self.field_names, texts, strict=True)]
        return f"{word}<{','.join(texts)}>"

    def __str__(self) -> str:
        return self.name

    def get_field_names(self) -> list[str]:
        """Returns the field names of a row or tuple type; unnamed fields are ``f0``, ``f1``, ..."""
        if self.field_names is not None:
            return list(self.field_names)
        return [f"f{i}" for i in range(len(self.arguments))]

    def get_field_types(self) -> list[TypeInformation]:
        """Returns the types of the fields of a row or tuple type."""
        return list(self.arguments)


def _field_text(name: str) -> str:
    return name if _PLAIN_NAME.fullmatch(name) else json.dumps(name)


class Types:
    """The declared types with PyFlink's names. Flink: Types."""

    @staticmethod
    def STRING() -> TypeInformation:
        """``str``. Flink: String."""
        return TypeInformation(TypeKind.STRING)

    @staticmethod
    def BYTE() -> TypeInformation:
        """``int`` of 8 bits. Flink: Byte."""
        return TypeInformation(TypeKind.BYTE)

    @staticmethod
    def BOOLEAN() -> TypeInformation:
        """``bool``. Flink: Boolean."""
        return TypeInformation(TypeKind.BOOLEAN)

    @staticmethod
    def SHORT() -> TypeInformation:
        """``int`` of 16 bits. Flink: Short."""
        return TypeInformation(TypeKind.SHORT)

    @staticmethod
    def INT() -> TypeInformation:
        """``int`` of 32 bits. Flink: Integer."""
        return TypeInformation(TypeKind.INT)

    @staticmethod
    def LONG() -> TypeInformation:
        """``int`` of 64 bits. Flink: Long."""
        return TypeInformation(TypeKind.LONG)

    @staticmethod
    def FLOAT() -> TypeInformation:
        """``float`` of single precision. Flink: Float."""
        return TypeInformation(TypeKind.FLOAT)

    @staticmethod
    def DOUBLE() -> TypeInformation:
        """``float``. Flink: Double."""
        return TypeInformation(TypeKind.DOUBLE)

    @staticmethod
    def CHAR() -> TypeInformation:
        """``str`` of one UTF-16 unit. Flink: Character."""
        return TypeInformation(TypeKind.CHAR)

    @staticmethod
    def BIG_INT() -> TypeInformation:
        """``int`` of any size. Flink: BigInteger."""
        return TypeInformation(TypeKind.BIG_INT)

    @staticmethod
    def BIG_DEC() -> TypeInformation:
        """``decimal.Decimal``. Flink: BigDecimal."""
        return TypeInformation(TypeKind.BIG_DEC)

    @staticmethod
    def INSTANT() -> TypeInformation:
        """``Instant``. Flink: java.time.Instant."""
        return TypeInformation(TypeKind.INSTANT)

    @staticmethod
    def SQL_DATE() -> TypeInformation:
        """``datetime.date``. Flink: java.sql.Date."""
        return TypeInformation(TypeKind.SQL_DATE)

    @staticmethod
    def SQL_TIME() -> TypeInformation:
        """``datetime.time``. Flink: java.sql.Time."""
        return TypeInformation(TypeKind.SQL_TIME)

    @staticmethod
    def SQL_TIMESTAMP() -> TypeInformation:
        """``datetime.datetime``. Flink: java.sql.Timestamp."""
        return TypeInformation(TypeKind.SQL_TIMESTAMP)

    @staticmethod
    def PICKLED_BYTE_ARRAY() -> TypeInformation:
        """Any value; nothing is pickled, the value decides the Java class."""
        return TypeInformation(TypeKind.PICKLED_BYTE_ARRAY)

    @staticmethod
    def ROW(field_types: Sequence[TypeInformation]) -> TypeInformation:
        """``Row`` without names. Flink: Row."""
        return TypeInformation(TypeKind.ROW, tuple(field_types))

    @staticmethod
    def ROW_NAMED(field_names: Sequence[str], field_types: Sequence[TypeInformation]) -> TypeInformation:
        """``Row`` with names; raises BadInput when the counts differ or a name repeats. Flink: Row."""
        if len(field_names) != len(field_types) or len(set(field_names)) != len(field_names):
            raise BadInput(f"ROW_NAMED: expected {len(field_types)} distinct field names, got {list(field_names)}")
        return TypeInformation(TypeKind.ROW, tuple(field_types), tuple(field_names) or None)

    @staticmethod
    def TUPLE(field_types: Sequence[TypeInformation]) -> TypeInformation:
        """``tuple``. Flink: Tuple1 ... Tuple25."""
        return TypeInformation(TypeKind.TUPLE, tuple(field_types))

    @staticmethod
    def PRIMITIVE_ARRAY(element_type: TypeInformation) -> TypeInformation:
        """``bytes`` for elements of type BYTE, else ``list``. Flink: byte[], long[], ..."""
        return TypeInformation(TypeKind.PRIMITIVE_ARRAY, (element_type,))

    @staticmethod
    def BASIC_ARRAY(element_type: TypeInformation) -> TypeInformation:
        """``list`` of a basic type. Flink: String[], Long[], ..."""
        return TypeInformation(TypeKind.BASIC_ARRAY, (element_type,))

    @staticmethod
    def OBJECT_ARRAY(element_type: TypeInformation) -> TypeInformation:
        """``list``. Flink: Object[]."""
        return TypeInformation(TypeKind.OBJECT_ARRAY, (element_type,))

    @staticmethod
    def MAP(key_type_info: TypeInformation, value_type_info: TypeInformation) -> TypeInformation:
        """``dict``. Flink: java.util.Map."""
        return TypeInformation(TypeKind.MAP, (key_type_info, value_type_info))

    @staticmethod
    def LIST(element_type_info: TypeInformation) -> TypeInformation:
        """``list``. Flink: java.util.List."""
        return TypeInformation(TypeKind.LIST, (element_type_info,))


def is_pickled_as_in_pyflink(inferred: TypeInformation) -> bool:
    """Returns True if a key of this inferred type has the pickle that it has in PyFlink: no Row or object of a class."""
    if inferred.kind in (TypeKind.PICKLED_BYTE_ARRAY, TypeKind.ROW):
        return False
    return all(map(is_pickled_as_in_pyflink, inferred.arguments))


@lru_cache(maxsize=1024)
def parse_type(name: str) -> TypeInformation:
    """Returns the type with this text name. Raises BadInput with the position and what was expected.

    >>> parse_type("TUPLE<INT, STRING>") == Types.TUPLE([Types.INT(), Types.STRING()])
    True
    """
    parser = _TypeParser(name)
    parsed = parser.type_()
    parser.end()
    return parsed


def as_type(declared: str | TypeInformation | None) -> TypeInformation | None:
    """Returns the declared type; parses a name. None stays None and means that the value decides the type."""
    return parse_type(declared) if isinstance(declared, str) else declared


class _TypeParser:
    """A recursive-descent parser of ``KIND``, ``KIND<type,...>`` and ``ROW<name:type,...>``."""

    _TOKEN: Final = re.compile(r'\s*("(?:[^"\\]|\\.)*"|\w+|[<>,:])', re.ASCII)

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._depth = 0

    def type_(self) -> TypeInformation:
        word = self._next("a type")
        if word not in TypeKind.__members__:
            raise self._error(f"expected one of {', '.join(TypeKind.__members__)}, got {word!r}")
        kind = TypeKind(word)
        arguments: list[TypeInformation] = []
        names: list[str] = []
        if self._peek() == "<":
            self._depth += 1
            if self._depth > 100:
                raise self._error("types may be nested 100 deep")
            self._arguments(kind, arguments, names)
            self._depth -= 1
        free = kind in (TypeKind.TUPLE, TypeKind.ROW)
        if not free and len(arguments) != _ARITY.get(kind, 0):
            raise self._error(f"{word} takes {count_text(_ARITY.get(kind, 0), 'type argument')}, got {len(arguments)}")
        if names:
            return Types.ROW_NAMED(names, arguments)
        return TypeInformation(kind, tuple(arguments))

    def _arguments(self, kind: TypeKind, arguments: list[TypeInformation], names: list[str]) -> None:
        self._next("'<'")
        while self._peek() != ">":
            if arguments and self._next("',' or '>'") != ",":
                raise self._error("expected ',' or '>'")
            before = self._at
            word = self._next("a type")
            if kind is TypeKind.ROW and self._peek() == ":":
                names.append(self._field_name(word))
                self._next("':'")
            else:
                self._at = before
            arguments.append(self.type_())
        self._next("'>'")

    def _field_name(self, word: str) -> str:
        if not word.startswith('"'):
            return word
        try:
            return str(json.loads(word))
        except ValueError as error:
            raise self._error(f"expected a field name as a JSON string, got {word}") from error

    def end(self) -> None:
        if self._text[self._at :].strip():
            raise self._error("expected the end")

    def _peek(self) -> str | None:
        token = self._TOKEN.match(self._text, self._at)
        return token.group(1) if token else None

    def _next(self, expected: str) -> str:
        token = self._TOKEN.match(self._text, self._at)
        if token is None:
            raise self._error(f"expected {expected}")
        self._at = token.end()
        return token.group(1)

    def _error(self, message: str) -> BadInput:
        return BadInput(f"type {self._text[:80]!r}, at column {self._at + 1}: {message}")
