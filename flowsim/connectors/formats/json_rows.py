"""Rows as JSON objects. Flink: JsonRowSerializationSchema, JsonRowDeserializationSchema."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from decimal import MAX_PREC, Context, Decimal
from math import isfinite
from typing import Final, NoReturn

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

_ARRAYS: Final = (TypeKind.OBJECT_ARRAY, TypeKind.BASIC_ARRAY, TypeKind.LIST)


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"JSON has no {text}")


_EXACT: Final = Context(prec=MAX_PREC)


class _Float(float):
    """A number with a fraction or an exponent, with its digits."""

    text: str


def _float(text: str) -> _Float:
    number = _Float(text)
    number.text = text
    return number


_DECODER: Final = json.JSONDecoder(parse_constant=_no_constant, parse_float=_float)
_ENCODE: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class JsonRowDeserializationSchema(DeserializationSchema):
    """Reads a JSON object as a row. Flink: JsonRowDeserializationSchema.

    A field that is not there is None, and other names are ignored.
    """

    def __init__(self, type_info: TypeInformation, *, fails_on_missing_field: bool, ignores_errors: bool) -> None:
        """``JsonRowDeserializationSchema.builder()`` has the defaults."""
        self._type = checked_row_type(type_info, "JsonRowDeserializationSchema")
        self._fails_on_missing_field = fails_on_missing_field
        self._ignores_errors = ignores_errors

    @staticmethod
    def builder() -> JsonRowDeserializationSchema.Builder:
        """Creates a builder."""
        return JsonRowDeserializationSchema.Builder()

    @property
    def produced_type(self) -> TypeInformation:
        return self._type

    def deserialize(self, message: bytes | None) -> object:
        try:
            if message is None:
                raise ValueError("expected an object, got no value")
            parsed, _ = _DECODER.raw_decode(message.decode().lstrip())
            return self._convert(self._type, parsed)
        except (ValueError, RecursionError) as error:
            if self._ignores_errors:
                return None
            shown = (message or b"").decode(errors="replace")
            raise BadInput(f"Failed to deserialize JSON '{shown:.100}': {error}") from error

    def _convert(self, type_info: TypeInformation, node: object) -> object:
        if node is None:
            return None
        try:
            return self._convert_value(type_info, node)
        except ValueError:
            if not self._ignores_errors:
                raise
            return None

    def _convert_value(self, type_info: TypeInformation, node: object) -> object:
        kind = type_info.kind
        if kind is TypeKind.ROW:
            return self._row(type_info, node)
        if kind in _ARRAYS:
            if not isinstance(node, list):
                raise ValueError(f"expected an array, got {_text(node):.40}")
            return [self._convert(type_info.arguments[0], item) for item in node]
        if kind is TypeKind.MAP:
            if not isinstance(node, dict):
                raise ValueError(f"expected an object, got {_text(node):.40}")
            key, value = type_info.arguments
            return {self._convert(key, name): self._convert(value, item) for name, item in node.items()}
        if is_bytes(type_info):
            if not isinstance(node, str):
                raise ValueError(f"expected text in base64, got {_text(node):.40}")
            return base64.b64decode(node, validate=True)
        return _scalar(type_info, node)

    def _row(self, type_info: TypeInformation, node: object) -> object:
        if not isinstance(node, dict):
            raise ValueError(f"expected an object, got {_text(node):.40}")
        values: list[object] = []
        for name, field_type in zip(type_info.get_field_names(), type_info.arguments, strict=True):
            if name not in node and self._fails_on_missing_field:
                raise ValueError(f"Could not find field with name '{name}'.")
            values.append(self._convert(field_type, node.get(name)))
        return row_of(type_info, values)

    class Builder:
        """Builds a JsonRowDeserializationSchema."""

        def __init__(self) -> None:
            self._type: TypeInformation | None = None
            self._fails_on_missing_field = False
            self._ignores_errors = False

        def type_info(self, type_info: TypeInformation) -> JsonRowDeserializationSchema.Builder:
            """Sets the type of the rows, whose field names are the names of the object."""
            self._type = checked_row_type(type_info, "JsonRowDeserializationSchema.type_info")
            return self

        def json_schema(self, json_schema: str) -> NoReturn:
            """Raises BadInput: flowsim takes the type of rows from ``type_info`` alone."""
            raise BadInput("JsonRowDeserializationSchema.json_schema: flowsim does not have this: call type_info(...)")

        def fail_on_missing_field(self) -> JsonRowDeserializationSchema.Builder:
            """A message without one of the fields is an error."""
            self._fails_on_missing_field = True
            return self

        def ignore_parse_errors(self) -> JsonRowDeserializationSchema.Builder:
            """A field that cannot be read is None, and a message that is no JSON is skipped."""
            self._ignores_errors = True
            return self

        def build(self) -> JsonRowDeserializationSchema:
            """Raises BadInput without a type."""
            if self._type is None:
                raise BadInput("JsonRowDeserializationSchema: no type is set: call type_info(...)")
            if self._fails_on_missing_field and self._ignores_errors:
                raise BadInput("JSON format doesn't support failOnMissingField and ignoreParseErrors are both enabled.")
            return JsonRowDeserializationSchema(
                self._type,
                fails_on_missing_field=self._fails_on_missing_field,
                ignores_errors=self._ignores_errors,
            )


def _scalar(type_info: TypeInformation, node: object) -> object:
    kind = type_info.kind
    if kind is TypeKind.STRING:
        return _text(node)
    if kind is TypeKind.BOOLEAN:
        return node if isinstance(node, bool) else _text(node).strip().lower() == "true"
    if kind in BITS:
        # Jackson truncates a number with a fraction.
        if isinstance(node, float) and kind in (TypeKind.INT, TypeKind.LONG):
            node = int(node)
        return integer_of(_text(node).strip(), kind)
    if kind in (TypeKind.FLOAT, TypeKind.DOUBLE):
        return float_of(_text(node).strip(), kind)
    if kind in PYTHON_TYPES:
        if isinstance(node, _Float) and kind is TypeKind.BIG_DEC:
            # As Jackson, which drops the zeros at the end of a number.
            return Decimal(node.text).normalize(_EXACT)
        text = _text(node)
        return value_of(text.strip() if kind in NUMBERS else text, kind, is_iso=True)
    raise BadInput(f"JsonRowDeserializationSchema: flowsim reads no {type_info} from JSON")


def _text(node: object) -> str:
    """Returns the text of a value as Jackson has it."""
    if isinstance(node, float):
        return float_text(node, TypeKind.DOUBLE)
    return node if isinstance(node, str) else _ENCODE(node)


class JsonRowSerializationSchema(SerializationSchema):
    """Writes a row as a JSON object. Flink: JsonRowSerializationSchema."""

    def __init__(self, type_info: TypeInformation) -> None:
        self._type = checked_row_type(type_info, "JsonRowSerializationSchema")

    @staticmethod
    def builder() -> JsonRowSerializationSchema.Builder:
        """Creates a builder."""
        return JsonRowSerializationSchema.Builder()

    def serialize(self, element: object) -> bytes:
        return self._text(self._type, element).encode()

    def _text(self, type_info: TypeInformation, value: object) -> str:
        if value is None:
            return "null"
        kind = type_info.kind
        if kind is TypeKind.ROW:
            # As in Flink, which reads the fields of the type by position: the key of a message can be a part of its value.
            fields = fields_of(value, type_info, "JsonRowSerializationSchema", more=True)
            named = zip(type_info.get_field_names(), type_info.arguments, fields, strict=True)
            return _object({name: self._text(field_type, field) for name, field_type, field in named})
        if kind in _ARRAYS and isinstance(value, list | tuple):
            return f"[{','.join(self._text(type_info.arguments[0], item) for item in value)}]"
        if kind is TypeKind.MAP and isinstance(value, Mapping):
            return _object({str(name): self._text(type_info.arguments[1], item) for name, item in value.items()})
        if is_bytes(type_info) and isinstance(value, bytes):
            return _ENCODE(base64.b64encode(value).decode())
        if kind in (TypeKind.FLOAT, TypeKind.DOUBLE) and type(value) in (float, int):
            assert isinstance(value, float | int)
            number = float_text(value, kind)
            # As Jackson, which quotes what JSON has no number for.
            return number if isfinite(value) else _ENCODE(number)
        if kind in _PYTHON and type(value) is _PYTHON[kind]:
            return _ENCODE(value)
        if kind in PYTHON_TYPES and type(value) is PYTHON_TYPES[kind]:
            text = text_of(value, kind, is_iso=True)
            return text if kind in NUMBERS else _ENCODE(text)
        raise BadInput(f"JsonRowSerializationSchema: expected a value of type {type_info}, got {value!r:.100}")

    class Builder:
        """Builds a JsonRowSerializationSchema."""

        def __init__(self) -> None:
            self._type: TypeInformation | None = None

        def with_type_info(self, type_info: TypeInformation) -> JsonRowSerializationSchema.Builder:
            """Sets the type of the rows, whose field names are the names of the object."""
            self._type = checked_row_type(type_info, "JsonRowSerializationSchema.with_type_info")
            return self

        def build(self) -> JsonRowSerializationSchema:
            """Raises BadInput without a type."""
            if self._type is None:
                raise BadInput("JsonRowSerializationSchema: typeInfo should be set: call with_type_info(...)")
            return JsonRowSerializationSchema(self._type)


_PYTHON: Final[Mapping[TypeKind, type]] = {
    TypeKind.STRING: str,
    TypeKind.CHAR: str,
    TypeKind.BOOLEAN: bool,
    TypeKind.BYTE: int,
    TypeKind.SHORT: int,
    TypeKind.INT: int,
    TypeKind.LONG: int,
}


def _object(fields: Mapping[str, str]) -> str:
    return "{" + ",".join(f"{_ENCODE(name)}:{text}" for name, text in fields.items()) + "}"
