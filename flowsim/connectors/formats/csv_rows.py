"""Rows as lines of CSV. Flink: CsvRowSerializationSchema, CsvRowDeserializationSchema."""

from __future__ import annotations

import base64
import csv
from dataclasses import dataclass, replace
from datetime import date, time
from typing import Final

from flowsim.connectors.formats.java_numbers import float_text
from flowsim.connectors.formats.row_types import (
    BITS,
    checked_row_type,
    fields_of,
    float_of,
    integer_of,
    is_bytes,
    row_of,
)
from flowsim.connectors.formats.sql_values import NUMBERS, PYTHON_TYPES, text_of, value_of
from flowsim.connectors.schemas import DeserializationSchema, SerializationSchema
from flowsim.errors import BadInput
from flowsim.values.types import TypeInformation, TypeKind

_ARRAYS: Final = (TypeKind.OBJECT_ARRAY, TypeKind.BASIC_ARRAY)
_UNCHECKED_CHARS: Final = 24
"""Jackson quotes longer text without a look at its characters."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """The characters of a line. Jackson: CsvSchema."""

    delimiter: str = ","
    line_end: str = "\n"
    array_delimiter: str = ";"
    quote: str | None = '"'
    escape: str | None = None
    null: str = ""
    allows_comments: bool = False


def one_char(char: str, method: str) -> str:
    """Returns a character; raises BadInput for any other text."""
    if not isinstance(char, str) or len(char) != 1:
        raise BadInput(f"{method}: expected one character, got {char!r:.60}")
    return char


class CsvRowDeserializationSchema(DeserializationSchema):
    """Reads a line of CSV, without a header, as a row. Flink: CsvRowDeserializationSchema."""

    def __init__(self, type_info: TypeInformation, dialect: Dialect, *, ignores_errors: bool) -> None:
        """``CsvRowDeserializationSchema.Builder(type_info)`` has the defaults."""
        self._type = type_info
        self._dialect = dialect
        self._ignores_errors = ignores_errors

    @property
    def produced_type(self) -> TypeInformation:
        return self._type

    def deserialize(self, message: bytes | None) -> object:
        text = "" if message is None else message.decode("utf-8", "replace")
        try:
            return self._row(text)
        except (ValueError, csv.Error) as error:
            if self._ignores_errors:
                return None
            raise BadInput(f"Failed to deserialize CSV row '{text:.100}': {error}") from error

    def _row(self, text: str) -> object:
        dialect = self._dialect
        lines = text.splitlines(keepends=True)
        if dialect.allows_comments:
            lines = [line for line in lines if not line.isspace() and not line.lstrip().startswith("#")]
            lines[:1] = [line.lstrip(" \t") for line in lines[:1]]
        rows = csv.reader(
            lines,
            delimiter=dialect.delimiter,
            quotechar=dialect.quote,
            escapechar=dialect.escape,
            strict=True,
        )
        cells = next(rows, None)
        if cells is None:
            raise ValueError("expected a line")
        cells, types = cells or [""], self._type.arguments
        if len(cells) > len(types) or (len(cells) < len(types) and not self._ignores_errors):
            raise ValueError(f"Row length mismatch. {len(types)} fields expected but was {len(cells)}.")
        read: list[object] = [self._cell(one, cell) for one, cell in zip(types, cells, strict=False)]
        return row_of(self._type, read + [None] * (len(types) - len(read)))

    def _cell(self, type_info: TypeInformation, cell: str) -> object:
        try:
            return value_of_cell(type_info, cell, self._dialect)
        except ValueError:
            if not self._ignores_errors:
                raise
            return None

    class Builder:
        """Builds a CsvRowDeserializationSchema. Flink: CsvRowDeserializationSchema.Builder."""

        def __init__(self, type_info: TypeInformation) -> None:
            self._type = checked_row_type(type_info, "CsvRowDeserializationSchema")
            self._dialect = Dialect()
            self._ignores_errors = False

        def set_field_delimiter(self, delimiter: str) -> CsvRowDeserializationSchema.Builder:
            self._dialect = replace(self._dialect, delimiter=one_char(delimiter, "set_field_delimiter"))
            return self

        def set_allow_comments(self, allow_comments: bool) -> CsvRowDeserializationSchema.Builder:
            """Lines that begin with # are skipped."""
            self._dialect = replace(self._dialect, allows_comments=allow_comments)
            return self

        def set_array_element_delimiter(self, delimiter: str) -> CsvRowDeserializationSchema.Builder:
            self._dialect = replace(self._dialect, array_delimiter=delimiter)
            return self

        def set_quote_character(self, c: str) -> CsvRowDeserializationSchema.Builder:
            self._dialect = replace(self._dialect, quote=one_char(c, "set_quote_character"))
            return self

        def set_escape_character(self, c: str) -> CsvRowDeserializationSchema.Builder:
            self._dialect = replace(self._dialect, escape=one_char(c, "set_escape_character"))
            return self

        def set_null_literal(self, null_literal: str) -> CsvRowDeserializationSchema.Builder:
            """A field with this text is None."""
            self._dialect = replace(self._dialect, null=null_literal)
            return self

        def set_ignore_parse_errors(self, ignore_parse_errors: bool) -> CsvRowDeserializationSchema.Builder:
            """A field that cannot be read is None, and a line that is no CSV is skipped."""
            self._ignores_errors = ignore_parse_errors
            return self

        def build(self) -> CsvRowDeserializationSchema:
            return CsvRowDeserializationSchema(self._type, self._dialect, ignores_errors=self._ignores_errors)


def value_of_cell(type_info: TypeInformation, cell: str, dialect: Dialect) -> object:
    """Returns the value of a cell; raises ValueError, or BadInput for a type that CSV does not have."""
    if type_info.kind in _ARRAYS:
        items = cell.split(dialect.array_delimiter) if cell else []
        return [value_of_cell(type_info.arguments[0], item, dialect) for item in items]
    # Without a null literal an empty field is an empty text, and no number.
    return None if dialect.null and cell == dialect.null else _scalar(type_info, cell)


def _scalar(type_info: TypeInformation, cell: str) -> object:
    kind = type_info.kind
    if kind is TypeKind.STRING:
        return cell
    if kind is TypeKind.BOOLEAN:
        return cell.strip().lower() == "true"
    if kind in BITS:
        return integer_of(cell.strip(), kind)
    if kind in (TypeKind.FLOAT, TypeKind.DOUBLE):
        return float_of(cell.strip(), kind)
    if is_bytes(type_info):
        return base64.b64decode(cell, validate=True)
    if kind in PYTHON_TYPES:
        return value_of(cell.strip() if kind in NUMBERS else cell, kind, is_iso=False)
    raise BadInput(f"CsvRowDeserializationSchema: flowsim reads no {type_info} from CSV")


class CsvRowSerializationSchema(SerializationSchema):
    """Writes a row as a line of CSV, with its end. Flink: CsvRowSerializationSchema.

    Text is quoted as Jackson does it: if it is longer than 24 characters, or has a character that is not above the
    delimiter and the quote, such as a space.
    """

    def __init__(self, type_info: TypeInformation, dialect: Dialect) -> None:
        """``CsvRowSerializationSchema.Builder(type_info)`` has the defaults."""
        self._type = type_info
        self._dialect = dialect
        specials = dialect.delimiter + (dialect.quote or "") + dialect.line_end
        self._least_safe = 1 + max(map(ord, specials))

    def serialize(self, element: object) -> bytes:
        fields = fields_of(element, self._type, "CsvRowSerializationSchema")
        cells = [self._cell(one, field) for one, field in zip(self._type.arguments, fields, strict=True)]
        return (self._dialect.delimiter.join(cells) + self._dialect.line_end).encode()

    def _cell(self, type_info: TypeInformation, value: object) -> str:
        if value is None:
            return self._dialect.null
        text = self._text(type_info, value)
        return self._quoted(text) if isinstance(value, str | list | tuple | date | time) else text

    def _text(self, type_info: TypeInformation, value: object) -> str:
        kind = type_info.kind
        if value is None:
            return self._dialect.null
        if kind in _ARRAYS and isinstance(value, list | tuple):
            return self._dialect.array_delimiter.join(self._text(type_info.arguments[0], item) for item in value)
        if kind in (TypeKind.STRING, TypeKind.CHAR) and type(value) is str:
            return value
        if kind is TypeKind.BOOLEAN and type(value) is bool:
            return "true" if value else "false"
        if kind in BITS and type(value) is int:
            return str(value)
        if kind in (TypeKind.FLOAT, TypeKind.DOUBLE) and isinstance(value, float | int) and type(value) is not bool:
            return float_text(value, kind)
        if is_bytes(type_info) and isinstance(value, bytes):
            return base64.b64encode(value).decode()
        if kind in PYTHON_TYPES and type(value) is PYTHON_TYPES[kind]:
            return text_of(value, kind, is_iso=False)
        raise BadInput(f"CsvRowSerializationSchema: expected a value of type {type_info}, got {value!r:.100}")

    def _quoted(self, text: str) -> str:
        quote, escape = self._dialect.quote, self._dialect.escape
        if quote is None:
            return text
        if len(text) <= _UNCHECKED_CHARS and all(ord(char) >= self._least_safe for char in text):
            return text
        if escape is not None:
            text = text.replace(escape, escape * 2)
        return f"{quote}{text.replace(quote, quote * 2)}{quote}"

    class Builder:
        """Builds a CsvRowSerializationSchema. Flink: CsvRowSerializationSchema.Builder."""

        def __init__(self, type_info: TypeInformation) -> None:
            self._type = checked_row_type(type_info, "CsvRowSerializationSchema")
            self._dialect = Dialect()

        def set_field_delimiter(self, c: str) -> CsvRowSerializationSchema.Builder:
            self._dialect = replace(self._dialect, delimiter=one_char(c, "set_field_delimiter"))
            return self

        def set_line_delimiter(self, delimiter: str) -> CsvRowSerializationSchema.Builder:
            """Sets the end of a line, which may be empty."""
            if delimiter not in ("\n", "\r", "\r\n", ""):
                raise BadInput(
                    r"Unsupported new line delimiter. Only \n, \r, \r\n, or empty string are supported, got "
                    f"{delimiter!r:.60}"
                )
            self._dialect = replace(self._dialect, line_end=delimiter)
            return self

        def set_array_element_delimiter(self, delimiter: str) -> CsvRowSerializationSchema.Builder:
            self._dialect = replace(self._dialect, array_delimiter=delimiter)
            return self

        def disable_quote_character(self) -> CsvRowSerializationSchema.Builder:
            self._dialect = replace(self._dialect, quote=None)
            return self

        def set_quote_character(self, c: str) -> CsvRowSerializationSchema.Builder:
            self._dialect = replace(self._dialect, quote=one_char(c, "set_quote_character"))
            return self

        def set_escape_character(self, c: str) -> CsvRowSerializationSchema.Builder:
            self._dialect = replace(self._dialect, escape=one_char(c, "set_escape_character"))
            return self

        def set_null_literal(self, s: str) -> CsvRowSerializationSchema.Builder:
            """None is this text, by default empty."""
            self._dialect = replace(self._dialect, null=s)
            return self

        def build(self) -> CsvRowSerializationSchema:
            return CsvRowSerializationSchema(self._type, self._dialect)
