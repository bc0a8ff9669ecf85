"""Rows as JSON. The expected values are the answers of JsonRow(De)serializationSchema of Flink 2.3.0."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from flowsim.connectors.formats.json_rows import JsonRowDeserializationSchema, JsonRowSerializationSchema
from flowsim.datastream.common import Row, Types
from flowsim.errors import BadInput

NAMES = ["s", "i", "l", "d", "f", "b", "h", "a"]
TYPE = Types.ROW_NAMED(
    NAMES,
    [Types.STRING(), Types.INT(), Types.LONG(), Types.DOUBLE(), Types.FLOAT(), Types.BOOLEAN(), Types.SHORT(),
     Types.OBJECT_ARRAY(Types.STRING())],
)  # fmt: skip

READ: list[tuple[str, dict[str, object]]] = [
    ('{"s":"a","i":1,"l":2,"d":1.5,"f":0.5,"b":true,"h":3,"a":["x",null],"other":1}',
     {"s": "a", "i": 1, "l": 2, "d": 1.5, "f": 0.5, "b": True, "h": 3, "a": ["x", None]}),
    ('{"s":1.5,"i":"7","l":" 8 ","d":"1e3","f":2,"b":"TRUE"}',
     {"s": "1.5", "i": 7, "l": 8, "d": 1000.0, "f": 2.0, "b": True}),
    ('{"s":{"x":[1, 2.50]},"i":1.9,"l":1e3}', {"s": '{"x":[1,2.5]}', "i": 1, "l": 1000}),
    ('{"s":true,"b":1}', {"s": "true", "b": False}),
    ('{"s":1e10,"d":"1d","f":1e40}', {"s": "1.0E10", "d": 1.0, "f": float("inf")}),
    ('{"s":12345678901234567890,"l":9223372036854775807}', {"s": "12345678901234567890", "l": 2**63 - 1}),
    ('{"i":1,"i":2} x', {"i": 2}),
    ("{}", {}),
]  # fmt: skip

UNREADABLE = [
    '{"i":3000000000}', '{"i":1e10}', '{"h":1.0}', '{"h":70000}', '{"a":"x"}', "[1]", "7", "", '{"d":NaN}', '{"i":"1_0"}',
    '{"d":"1_0"}', '{"i":true}', '{"l":9223372036854775808}',
]  # fmt: skip


def row(values: dict[str, object]) -> Row:
    return Row.of([values.get(name) for name in NAMES], NAMES)


@pytest.mark.parametrize(("message", "values"), READ)
def test_object_is_read_as_flink_reads_it(message: str, values: dict[str, object]) -> None:
    schema = JsonRowDeserializationSchema.builder().type_info(TYPE).build()
    assert (schema.deserialize(message.encode()), schema.produced_type) == (row(values), TYPE)


@pytest.mark.parametrize("message", UNREADABLE)
def test_message_that_flink_cannot_read_is_an_error_or_skipped(message: str) -> None:
    with pytest.raises(BadInput, match="Failed to deserialize JSON '"):
        JsonRowDeserializationSchema.builder().type_info(TYPE).build().deserialize(message.encode())
    ignoring = JsonRowDeserializationSchema.builder().type_info(TYPE).ignore_parse_errors().build()
    assert ignoring.deserialize(message.encode()) == (
        row({}) if message.startswith("{") and "NaN" not in message else None
    )


def test_missing_field_is_none_or_an_error() -> None:
    builder = JsonRowDeserializationSchema.builder().type_info(Types.ROW_NAMED(["a"], [Types.INT()]))
    assert builder.build().deserialize(b'{"b":1}') == Row(a=None)
    with pytest.raises(BadInput, match="Could not find field with name 'a'"):
        builder.fail_on_missing_field().build().deserialize(b'{"b":1}')


def test_nested_values_are_read_and_written() -> None:
    inner = Types.ROW_NAMED(["x"], [Types.INT()])
    kind = Types.ROW_NAMED(["r", "b"], [inner, Types.PRIMITIVE_ARRAY(Types.BYTE())])
    value = Row.of([Row(x=1), b"\xff"], ["r", "b"])
    text = b'{"r":{"x":1},"b":"/w=="}'
    assert JsonRowDeserializationSchema.builder().type_info(kind).build().deserialize(text) == value
    assert JsonRowSerializationSchema.builder().with_type_info(kind).build().serialize(value) == text
    maps = Types.ROW_NAMED(["m"], [Types.MAP(Types.STRING(), Types.LONG())])
    read = JsonRowDeserializationSchema.builder().type_info(maps).build().deserialize(b'{"m":{"a":1,"b":null}}')
    assert read == Row(m={"a": 1, "b": None})


def test_first_fields_of_a_wider_row_are_written() -> None:
    kind = Types.ROW_NAMED(["key"], [Types.STRING()])
    schema = JsonRowSerializationSchema.builder().with_type_info(kind).build()
    assert schema.serialize(Row(name="ada", age=36)) == b'{"key":"ada"}'
    with pytest.raises(BadInput, match=r"expected a row of type ROW<key:STRING>, got <Row\(\)>"):
        schema.serialize(Row())


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (["a\\b/\x01é", 1, 2**40, 1.5, 1.1, True, 3, ["x", None]],
         r'{"s":"a\\b/\u0001é","i":1,"l":1099511627776,"d":1.5,"f":1.1,"b":true,"h":3,"a":["x",null]}'),
        (['q"', None, None, 1e10, 1e-5, False, None, []],
         r'{"s":"q\"","i":null,"l":null,"d":1.0E10,"f":1.0E-5,"b":false,"h":null,"a":[]}'),
        (["", 0, 0, float("nan"), -0.0, None, 0, None],
         '{"s":"","i":0,"l":0,"d":"NaN","f":-0.0,"b":null,"h":0,"a":null}'),
        (["", 0, 0, 12345678.9, 1e7, None, 0, None],
         '{"s":"","i":0,"l":0,"d":1.23456789E7,"f":1.0E7,"b":null,"h":0,"a":null}'),
        (["", 0, 0, float("-inf"), 0.001, None, 0, None],
         '{"s":"","i":0,"l":0,"d":"-Infinity","f":0.001,"b":null,"h":0,"a":null}'),
    ],
)  # fmt: skip
def test_row_is_written_as_flink_writes_it(values: list[object], text: str) -> None:
    schema = JsonRowSerializationSchema.builder().with_type_info(TYPE).build()
    assert schema.serialize(Row(*values)).decode() == text
    assert schema.serialize(tuple(values)).decode() == text


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda: JsonRowDeserializationSchema.builder().build(), "no type is set: call type_info"),
        (lambda: JsonRowSerializationSchema.builder().build(), "typeInfo should be set"),
        (lambda: JsonRowSerializationSchema.builder().with_type_info(Types.INT()), "expected a row type such as"),
        (lambda: JsonRowDeserializationSchema.builder().json_schema("{}"), "call type_info"),
        (lambda: JsonRowDeserializationSchema.builder().type_info(TYPE).fail_on_missing_field().ignore_parse_errors().build(),
         "are both enabled"),
        (lambda: JsonRowSerializationSchema(TYPE).serialize(Row(1, 2)), "expected a row of type ROW<"),
        (lambda: JsonRowSerializationSchema(TYPE).serialize(Row(*range(8))), "expected a value of type STRING, got 0"),
    ],
)  # fmt: skip
def test_wrong_use_is_refused(use: Callable[[], object], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        use()
