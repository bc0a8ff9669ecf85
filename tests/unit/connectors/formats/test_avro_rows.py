"""Rows as Avro records: the types and values that Flink's AvroSchemaConverter and its two schemas have."""

from __future__ import annotations

import json
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import pytest

from flowsim.connectors.formats.avro_rows import AvroRowDeserializationSchema, AvroRowSerializationSchema
from flowsim.datastream.common import Row, Types
from flowsim.errors import BadInput

AFTER, BEFORE = datetime.fromisoformat("2020-01-02T03:04:05.006"), datetime.fromisoformat("1969-01-02T03:04:05.000006")
NESTED = {"type": "record", "name": "Inner", "fields": [{"name": "n", "type": "int"}]}
FIELDS: list[tuple[str, Any, Any, Any]] = [
    ("text", "string", Types.STRING(), "é"),
    ("small", "int", Types.INT(), -5),
    ("big", "long", Types.LONG(), 1 << 40),
    ("single", "float", Types.FLOAT(), 1.5),
    ("double", "double", Types.DOUBLE(), 0.1),
    ("flag", "boolean", Types.BOOLEAN(), True),
    ("raw", "bytes", Types.PRIMITIVE_ARRAY(Types.BYTE()), b"\x00\xff"),
    ("suit", {"type": "enum", "name": "Suit", "symbols": ["HEARTS", "CLUBS"]}, Types.STRING(), "CLUBS"),
    ("fixed", {"type": "fixed", "name": "Two", "size": 2}, Types.PRIMITIVE_ARRAY(Types.BYTE()), b"ab"),
    ("list", {"type": "array", "items": "int"}, Types.OBJECT_ARRAY(Types.INT()), [1, 2]),
    ("map", {"type": "map", "values": ["null", "long"]}, Types.MAP(Types.STRING(), Types.LONG()), {"a": 1, "b": None}),
    ("none", ["null", "string"], Types.STRING(), None),
    ("some", ["string", "null"], Types.STRING(), "x"),
    ("inner", NESTED, Types.ROW_NAMED(["n"], [Types.INT()]), Row(n=3)),
    ("again", "Inner", Types.ROW_NAMED(["n"], [Types.INT()]), Row(n=4)),
    ("day", {"type": "int", "logicalType": "date"}, Types.SQL_DATE(), date(1969, 12, 31)),
    ("time", {"type": "int", "logicalType": "time-millis"}, Types.SQL_TIME(), time(1, 2, 3, 4000)),
    ("micros", {"type": "long", "logicalType": "time-micros"}, Types.SQL_TIME(), time(23, 59, 59, 999000)),
    ("at", {"type": "long", "logicalType": "timestamp-millis"}, Types.SQL_TIMESTAMP(), AFTER),
    ("exact", {"type": "long", "logicalType": "timestamp-micros"}, Types.SQL_TIMESTAMP(), BEFORE),
    ("local", {"type": "long", "logicalType": "local-timestamp-millis"}, Types.LONG(), 7),
    ("price", {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}, Types.BIG_DEC(), Decimal("-1.28")),
]  # fmt: skip


def schema(*fields: tuple[str, Any]) -> str:
    return json.dumps({"type": "record", "name": "R", "fields": [{"name": n, "type": t} for n, t in fields]})


ALL = schema(*((name, kind) for name, kind, _, _ in FIELDS))


def test_types_of_a_schema_are_those_of_flink() -> None:
    names, types = [field[0] for field in FIELDS], [field[2] for field in FIELDS]
    assert AvroRowDeserializationSchema(avro_schema_string=ALL).produced_type == Types.ROW_NAMED(names, types)


def test_row_is_read_as_it_was_written() -> None:
    row = Row.of([field[3] for field in FIELDS], [field[0] for field in FIELDS])
    message = AvroRowSerializationSchema(avro_schema_string=ALL).serialize(row)
    assert AvroRowDeserializationSchema(avro_schema_string=ALL).deserialize(message) == row


def test_bytes_are_those_of_avro() -> None:
    # Avro 1.11, Binary Encoding: zig-zag numbers, the length before text, the number of the branch before a union.
    written = AvroRowSerializationSchema(
        avro_schema_string=schema(("n", "int"), ("t", ["null", "string"]), ("u", ["null", "long"]))
    )
    assert written.serialize(Row(-2, "foo", None)) == b"\x03\x02\x06foo\x00"


def test_digits_of_a_number_are_written_without_scale_as_in_flink() -> None:
    price = schema(("p", {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}))
    message = AvroRowSerializationSchema(avro_schema_string=price).serialize(Row(Decimal("1.5")))
    assert AvroRowDeserializationSchema(avro_schema_string=price).deserialize(message) == Row(p=Decimal("0.15"))
    with pytest.raises(BadInput, match=r"at most 2 digits after its point, got 1\.234"):
        AvroRowSerializationSchema(avro_schema_string=price).serialize(Row(Decimal("1.234")))


@pytest.mark.parametrize("message", [None, b"", b"\x06fo"])
def test_message_that_is_no_record_fails(message: bytes | None) -> None:
    with pytest.raises(BadInput, match=r"^Failed to deserialize Avro record: "):
        AvroRowDeserializationSchema(avro_schema_string=schema(("t", "string"))).deserialize(message)


@pytest.mark.parametrize("value", [Row(1 << 31), Row("x"), Row(None), Row(1, 2), 5])
def test_value_that_does_not_fit_fails(value: object) -> None:
    with pytest.raises(BadInput, match=r"^(Failed to serialize row|row: expected a row of type)"):
        AvroRowSerializationSchema(avro_schema_string=schema(("n", "int"))).serialize(value)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("{", "Could not parse Avro schema string"),
        (schema(("n", "strange")), "Could not parse Avro schema string"),
        ('"int"', "expected the schema of a record"),
        (schema(("n", ["int", "string"])), "flowsim has no rows with this type"),
        (schema(("n", "null")), "flowsim has no rows with this type"),
        (schema(("n", ["null", "R"])), "flowsim has no rows with this type"),
        (schema(("n", {"type": "long", "logicalType": "timestamp-nanos"})), "Flink reads these as milliseconds"),
    ],
)
def test_schema_without_rows_is_refused(text: str, error: str) -> None:
    for owner in (AvroRowDeserializationSchema, AvroRowSerializationSchema):
        with pytest.raises(BadInput, match=f"^{owner.__name__}: .*{error}"):
            owner(avro_schema_string=text)


def test_java_class_is_refused_and_no_schema_is_an_error_as_in_pyflink() -> None:
    with pytest.raises(BadInput, match="flowsim runs no Java classes"):
        AvroRowDeserializationSchema(record_class="com.example.Order")
    with pytest.raises(TypeError, match="record_class or avro_schema_string should be specified"):
        AvroRowSerializationSchema()
