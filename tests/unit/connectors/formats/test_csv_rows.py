"""Rows as CSV. The expected values are the answers of CsvRow(De)serializationSchema of Flink 2.3.0."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from flowsim.connectors.formats.csv_rows import CsvRowDeserializationSchema, CsvRowSerializationSchema
from flowsim.datastream.common import Row, Types
from flowsim.errors import BadInput

NAMES = ["s", "i", "d", "b", "a"]
TYPE = Types.ROW_NAMED(
    NAMES, [Types.STRING(), Types.INT(), Types.DOUBLE(), Types.BOOLEAN(), Types.OBJECT_ARRAY(Types.STRING())]
)
Reader = CsvRowDeserializationSchema.Builder
Writer = CsvRowSerializationSchema.Builder


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ("a,1,1.5,true,x;y", ["a", 1, 1.5, True, ["x", "y"]]),
        ("a,1,1.5,true,x;y\n", ["a", 1, 1.5, True, ["x", "y"]]),
        ('"a,b",1,1,TRUE,', ["a,b", 1, 1.0, True, []]),
        ('"a ""q""", 1 , 1.5,no,x', ['a "q"', 1, 1.5, False, ["x"]]),
        (" a ,1,1,true, x ; y ", [" a ", 1, 1.0, True, [" x ", " y "]]),
        ('"a\nb",1,1,true,x', ["a\nb", 1, 1.0, True, ["x"]]),
        ('a"b,1,1,true,;', ['a"b', 1, 1.0, True, ["", ""]]),
        (",1,1,true,x\nb,2,2,true,y", ["", 1, 1.0, True, ["x"]]),
        ("#c,1,1,true,x", ["#c", 1, 1.0, True, ["x"]]),
    ],
)
def test_line_is_read_as_flink_reads_it(line: str, values: list[object]) -> None:
    assert Reader(TYPE).build().deserialize(line.encode()) == Row.of(values, NAMES)


@pytest.mark.parametrize(
    ("line", "ignored"),
    [
        ("a,1", ["a", 1, None, None, None]),
        ("a,x,1,true,x", ["a", None, 1.0, True, ["x"]]),
        ("a,,1,true,x", ["a", None, 1.0, True, ["x"]]),
        ("\na,1,1,true,x", ["", None, None, None, None]),
        ("a,1,2,true,x,6", None),
        ('"a,1,1,true,x', None),
        ('"a"b,1,1,true,x', None),
        ("", None),
    ],
)
def test_line_that_flink_cannot_read_is_an_error_or_has_none(line: str, ignored: list[object] | None) -> None:
    with pytest.raises(BadInput, match="Failed to deserialize CSV row '"):
        Reader(TYPE).build().deserialize(line.encode())
    expected = None if ignored is None else Row.of(ignored, NAMES)
    assert Reader(TYPE).set_ignore_parse_errors(True).build().deserialize(line.encode()) == expected


def test_characters_of_the_format_can_be_set() -> None:
    null = Reader(TYPE).set_null_literal("n/a").build()
    assert null.deserialize(b"n/a,n/a,1,true,n/a") == Row.of([None, None, 1.0, True, [None]], NAMES)
    semicolon = Reader(TYPE).set_field_delimiter(";").set_array_element_delimiter("|").build()
    assert semicolon.deserialize(b"a;1;1;true;x|y") == Row.of(["a", 1, 1.0, True, ["x", "y"]], NAMES)
    escape = Reader(TYPE).set_escape_character("\\").set_quote_character("'").build()
    assert escape.deserialize(b"a\\,b,1,1,true,x") == Row.of(["a,b", 1, 1.0, True, ["x"]], NAMES)
    comments = Reader(TYPE).set_allow_comments(True).build()
    assert comments.deserialize(b"#c\n a ,1,1,true,x") == Row.of(["a ", 1, 1.0, True, ["x"]], NAMES)


ROWS = [
    (["a", 1, 1.5, True, ["x", "y"]], "a,1,1.5,true,x;y\n"),
    (["a b", 1, 1e10, False, ["x y", None]], '"a b",1,1.0E10,false,"x y;"\n'),
    ([None] * 5, ",,,,\n"),
    (['q"', 1, 0.001, True, []], '"q""",1,0.001,true,\n'),
    (["\u00e9", 1, float("nan"), True, ["a;b"]], "\u00e9,1,NaN,true,a;b\n"),
    (["x" * 24, 1, float("-inf"), True, ["x" * 25]], f'{"x" * 24},1,-Infinity,true,"{"x" * 25}"\n'),
    (["", 1, -0.0, True, ["a,b"]], ',1,-0.0,true,"a,b"\n'),
    (["l\nl", 1, 100.0, True, None], '"l\nl",1,100.0,true,\n'),
    (["-x", 1, 9999999.0, True, ["+"]], '-x,1,9999999.0,true,"+"\n'),
]


@pytest.mark.parametrize(("values", "line"), ROWS)
def test_row_is_written_as_flink_writes_it(values: list[object], line: str) -> None:
    assert Writer(TYPE).build().serialize(Row(*values)).decode() == line


def test_characters_of_written_lines_can_be_set() -> None:
    row = Row("a\\b c", None, 1.0, True, ["x", "y"])
    assert Writer(TYPE).set_escape_character("\\").build().serialize(row) == b'"a\\\\b c",,1.0,true,x;y\n'
    assert Writer(TYPE).disable_quote_character().build().serialize(row) == b"a\\b c,,1.0,true,x;y\n"
    other = Writer(TYPE).set_field_delimiter("|").set_null_literal("NULL").set_line_delimiter("")
    assert other.set_array_element_delimiter(":").build().serialize(row) == b'"a\\b c"|NULL|1.0|true|"x:y"'
    assert Writer(TYPE).set_quote_character("'").set_line_delimiter("\r\n").build().serialize(row).endswith(b"x;y\r\n")


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda: Reader(Types.INT()), "expected a row type such as"),
        (lambda: Reader(TYPE).set_field_delimiter("::"), "set_field_delimiter: expected one character, got '::'"),
        (lambda: Writer(TYPE).set_line_delimiter("x"), "Unsupported new line delimiter"),
        (lambda: Writer(TYPE).build().serialize(Row(1)), "expected a row of type ROW<"),
        (lambda: Writer(TYPE).build().serialize(Row("a", "b", 1.0, True, [])), "expected a value of type INT, got 'b'"),
    ],
)
def test_wrong_use_is_refused(use: Callable[[], object], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        use()
