"""Rows as Avro records. Flink: AvroRowSerializationSchema, AvroRowDeserializationSchema, AvroSchemaConverter."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Final

from fastavro import parse_schema, schemaless_reader, schemaless_writer
from fastavro.schema import SchemaParseException, UnknownType, expand_schema

from flowsim.connectors.formats.row_types import BITS, fields_of, row_of
from flowsim.connectors.schemas import DeserializationSchema, SerializationSchema
from flowsim.errors import BadInput
from flowsim.values.types import TypeInformation, TypeKind, Types

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC).replace(tzinfo=None)
_FIRST_DAY: Final = _EPOCH.date()
_DAY_MS: Final = 86_400_000
_PLAIN: Final[Mapping[str, Callable[[], TypeInformation]]] = {
    "string": Types.STRING, "int": Types.INT, "long": Types.LONG, "float": Types.FLOAT, "double": Types.DOUBLE,
    "boolean": Types.BOOLEAN,
}  # fmt: skip
_LOGICAL: Final[Mapping[tuple[str, str], Callable[[], TypeInformation]]] = {
    ("int", "date"): Types.SQL_DATE,
    ("int", "time-millis"): Types.SQL_TIME,
    ("long", "time-micros"): Types.SQL_TIME,
    ("long", "timestamp-millis"): Types.SQL_TIMESTAMP,
    ("long", "timestamp-micros"): Types.SQL_TIMESTAMP,
}
"""Other logical types are those of their numbers."""


class AvroRecordSchema:
    """The schema of a record, and the row type that Flink makes of it."""

    def __init__(self, record_class: str | None, text: str | None, owner: str) -> None:
        """Raises TypeError without a schema, and BadInput for one that cannot be read."""
        if record_class is not None:
            raise BadInput(f"{owner}: record_class: flowsim runs no Java classes: give the avro_schema_string")
        if text is None:
            raise TypeError("record_class or avro_schema_string should be specified.")
        self._owner = owner
        try:
            self.schema: Any = expand_schema(json.loads(text))
            self.plain: Any = parse_schema(_without_logical_types(json.loads(text)))
        except (ValueError, KeyError, TypeError, SchemaParseException, UnknownType) as error:
            raise BadInput(f"{owner}: Could not parse Avro schema string: {error}") from None
        self.type: TypeInformation = self._type(self.schema)
        if self.type.kind is not TypeKind.ROW:
            raise BadInput(f"{owner}: expected the schema of a record, got {text:.100}")

    def _type(self, schema: Any) -> TypeInformation:
        """Flink: AvroSchemaConverter.convertToTypeInfo."""
        schema = _without_null(schema)
        kind, logical = _kind(schema), _logical(schema)
        if kind == "timestamp-nanos" or logical == "timestamp-nanos":
            raise BadInput(f"{self._owner}: timestamp-nanos: Flink reads these as milliseconds; use timestamp-micros")
        match kind:
            case "record":
                names = [field["name"] for field in schema["fields"]]
                return Types.ROW_NAMED(names, [self._type(field["type"]) for field in schema["fields"]])
            case "enum":
                return Types.STRING()
            case "array":
                return Types.OBJECT_ARRAY(self._type(schema["items"]))
            case "map":
                return Types.MAP(Types.STRING(), self._type(schema["values"]))
            case "fixed" | "bytes":
                return Types.BIG_DEC() if logical == "decimal" else Types.PRIMITIVE_ARRAY(Types.BYTE())
        made = _LOGICAL.get((kind, logical)) or _PLAIN.get(kind)
        if made is None:
            raise BadInput(
                f"{self._owner}: {json.dumps(schema):.100}: flowsim has no rows with this type: expected no recursive type, "
                "no union of several types, and no null"
            )
        return made()


class AvroRowDeserializationSchema(DeserializationSchema):
    """Reads an Avro record as a row. Flink: AvroRowDeserializationSchema."""

    def __init__(self, record_class: str | None = None, avro_schema_string: str | None = None) -> None:
        self._schema = AvroRecordSchema(record_class, avro_schema_string, "AvroRowDeserializationSchema")

    @property
    def produced_type(self) -> TypeInformation:
        return self._schema.type

    def deserialize(self, message: bytes | None) -> object:
        try:
            if message is None:
                raise ValueError("expected a record, got no value")
            record = schemaless_reader(io.BytesIO(message), self._schema.plain, None)
        except (ValueError, EOFError, IndexError, KeyError, OverflowError, MemoryError) as error:
            raise BadInput(f"Failed to deserialize Avro record: {error or type(error).__name__}") from error
        return _read(self._schema.schema, self._schema.type, record)


class AvroRowSerializationSchema(SerializationSchema):
    """Writes a row as an Avro record. Flink: AvroRowSerializationSchema."""

    def __init__(self, record_class: str | None = None, avro_schema_string: str | None = None) -> None:
        self._schema = AvroRecordSchema(record_class, avro_schema_string, "AvroRowSerializationSchema")

    def serialize(self, value: object) -> bytes:
        content = io.BytesIO()
        try:
            record = _written(self._schema.schema, self._schema.type, value)
            schemaless_writer(content, self._schema.plain, record)
        except (ValueError, TypeError, AttributeError, OverflowError, KeyError) as error:
            raise BadInput(f"Failed to serialize row {value!r:.100}: {error}") from error
        return content.getvalue()


def _without_logical_types(schema: Any) -> Any:
    """Returns the schema for the library, which then converts no value itself."""
    match schema:
        case dict():
            return {key: _without_logical_types(value) for key, value in schema.items() if key != "logicalType"}
        case list():
            return [_without_logical_types(each) for each in schema]
    return schema


def _without_null(schema: Any) -> Any:
    """Returns the type of a union with null; any other schema as it is."""
    if isinstance(schema, list):
        types = [each for each in schema if _kind(each) != "null"]
        return types[0] if len(types) == 1 else schema
    return schema


def _kind(schema: Any) -> str:
    if isinstance(schema, dict):
        return _kind(schema["type"])
    return schema if isinstance(schema, str) else "union"


def _logical(schema: Any) -> str:
    return str(schema.get("logicalType", "")) if isinstance(schema, dict) else ""


def _read(schema: Any, declared: TypeInformation, value: Any) -> object:
    """Flink: AvroRowDeserializationSchema.convertAvroType."""
    if value is None:
        return None
    schema = _without_null(schema)
    match declared.kind:
        case TypeKind.ROW:
            fields = zip(schema["fields"], declared.arguments, strict=True)
            return row_of(declared, [_read(field["type"], kind, value[field["name"]]) for field, kind in fields])
        case TypeKind.OBJECT_ARRAY:
            return [_read(schema["items"], declared.arguments[0], each) for each in value]
        case TypeKind.MAP:
            return {key: _read(schema["values"], declared.arguments[1], each) for key, each in value.items()}
        case TypeKind.BIG_DEC:
            return Decimal(int.from_bytes(value, "big", signed=True)).scaleb(-schema.get("scale", 0))
        case TypeKind.SQL_DATE:
            return _FIRST_DAY + timedelta(days=value)
        case TypeKind.SQL_TIME:
            millis = value // 1000 if _kind(schema) == "long" else value
            return (_EPOCH + timedelta(milliseconds=millis % _DAY_MS)).time()
        case TypeKind.SQL_TIMESTAMP:
            micros = value if _logical(schema) == "timestamp-micros" else value * 1000
            return _EPOCH + timedelta(microseconds=micros)
    return value


def _written(schema: Any, declared: TypeInformation, value: Any) -> object:
    """Flink: AvroRowSerializationSchema.convertFlinkType."""
    if value is None:
        return None
    schema = _without_null(schema)
    match declared.kind:
        case TypeKind.ROW:
            fields = zip(schema["fields"], declared.arguments, fields_of(value, declared, "row"), strict=True)
            return {field["name"]: _written(field["type"], kind, each) for field, kind, each in fields}
        case TypeKind.OBJECT_ARRAY:
            return [_written(schema["items"], declared.arguments[0], each) for each in value]
        case TypeKind.MAP:
            return {str(key): _written(schema["values"], declared.arguments[1], each) for key, each in value.items()}
        case TypeKind.STRING:
            return str(value)
        case TypeKind.BIG_DEC if isinstance(value, Decimal):
            return _unscaled(value, schema)
        case TypeKind.SQL_DATE if isinstance(value, date):
            return (value - _FIRST_DAY).days
        case TypeKind.SQL_TIME if isinstance(value, time):
            millis = (datetime.combine(_FIRST_DAY, value) - _EPOCH) // timedelta(milliseconds=1)
            return millis * 1000 if _kind(schema) == "long" else millis
        case TypeKind.SQL_TIMESTAMP if isinstance(value, datetime):
            since = (value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)) - _EPOCH
            return since // timedelta(microseconds=1 if _logical(schema) == "timestamp-micros" else 1000)
        case TypeKind.INT | TypeKind.LONG:
            half = 1 << BITS[declared.kind] - 1
            if type(value) is not int or not -half <= value < half:
                raise ValueError(f"expected {declared}, got {value!r:.60}")
    return value


def _unscaled(value: Decimal, schema: Any) -> bytes:
    """Returns the digits of a number without its point, as Flink writes them: not scaled to the schema."""
    sign, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int) or -exponent > schema.get("scale", 0):
        raise ValueError(f"expected a number with at most {schema.get('scale', 0)} digits after its point, got {value}")
    number: int = int("".join(map(str, digits))) * (-1 if sign else 1) * 10 ** max(exponent, 0)
    size: int = (
        schema["size"] if _kind(schema) == "fixed" else (number if number >= 0 else ~number).bit_length() // 8 + 1
    )
    return number.to_bytes(size, "big", signed=True)
