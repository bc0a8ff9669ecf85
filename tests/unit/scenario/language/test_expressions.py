"""The expression language: results, refusals, and the offsets of errors."""

from __future__ import annotations

import dis
from pathlib import Path

import pytest

from flowsim.scenario.language.expressions import ExpressionError, compile_expression, compile_record
from flowsim.scenario.language.functions import FUNCTIONS
from flowsim.scenario.language.record_schema import FieldType, RecordSchema
from flowsim.scenario.language.value_bounds import ExpressionFailure

LONG, STRING, ANY, DOUBLE, BOOLEAN = (
    FieldType.LONG,
    FieldType.STRING,
    FieldType.ANY,
    FieldType.DOUBLE,
    FieldType.BOOLEAN,
)
SCHEMA = RecordSchema(("origin", "dest", "delay", "extra", "ratio"), (STRING, STRING, LONG, ANY, DOUBLE))
RECORD = ("EWR", "IAH", 17, ("a", 2), 0.5)
pytestmark = pytest.mark.timeout(10)
"""Nothing here may do the work that it refuses."""

ESCAPES = [
    line
    for line in (Path(__file__).parent / "escapes" / "expressions.txt").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("# ")
]


def evaluate(source: str, record: tuple[object, ...] = RECORD, timestamp: int | None = 5) -> object:
    expression = compile_expression(source, SCHEMA)
    return expression.function(record, timestamp) if expression.uses_timestamp else expression.function(record)


def refusal(source: str) -> ExpressionError:
    with pytest.raises(ExpressionError) as refused:
        compile_expression(source, SCHEMA)
    return refused.value


@pytest.mark.parametrize(
    ("source", "result", "kind"),
    [
        ("delay > 15", True, BOOLEAN),
        ("10 < delay <= 17", True, BOOLEAN),
        ("origin + '-' + dest", "EWR-IAH", STRING),
        ("f'{origin}-{delay}'", "EWR-17", STRING),
        ("delay * 2 + 1", 35, LONG),
        ("delay / 2", 8.5, DOUBLE),
        ("delay // 2 % 5", 3, LONG),
        ("delay ** 2", 289, LONG),
        ("2 ** -1", 0.5, ANY),
        ("delay << 2 | 1", 69, LONG),
        ("-delay", -17, LONG),
        ("-9223372036854775808", -(2**63), LONG),
        ("ratio * delay", 8.5, DOUBLE),
        ("extra[1] * 3", 6, ANY),
        ("extra[0]", "a", ANY),
        ("value[-1]", 0.5, DOUBLE),
        ("value == ('EWR', 'IAH', 17, ('a', 2), 0.5)", True, BOOLEAN),
        ("timestamp + 1", 6, LONG),
        ("origin in ('EWR', 'JFK')", True, BOOLEAN),
        ("origin not in ['EWR']", False, BOOLEAN),
        ("'late' if delay > 15 else 'fine'", "late", STRING),
        ("delay if delay > 15 else None", 17, LONG),
        ("extra is not None and not delay < 0", True, BOOLEAN),
        ("delay == None", False, BOOLEAN),
        ("(origin, delay + 1)", ("EWR", 18), ANY),
        ("[1, 2.5, True, None]", [1, 2.5, True, None], ANY),
        ("split('a b')[1]", "b", STRING),
        ("  delay ", 17, LONG),
        ("max(delay, 20) - min(delay, 3)", 17, LONG),
        ("max((3, 9, 4))", 9, ANY),
        ("len(origin) + abs(-2)", 5, LONG),
        ("round(2.5)", 2, LONG),
        ("round(2.456, 1)", 2.5, DOUBLE),
        ("floor(-1.5) + ceil(1.2)", 0, LONG),
        ("sqrt(16)", 4.0, DOUBLE),
        ("str(delay) + str(ratio)", "170.5", STRING),
        ("int('42') + int(3.9)", 45, LONG),
        ("float(delay)", 17.0, DOUBLE),
        ("bool(delay)", True, BOOLEAN),
        ("lower(origin) + upper(strip(' x '))", "ewrX", STRING),
        ("startswith(origin, 'EW') and endswith(dest, 'H') and contains(dest, 'A')", True, BOOLEAN),
        ("replace(origin, 'E', 'ee')", "eeWR", STRING),
        ("split('a,b,,c', ',')", ("a", "b", "", "c"), ANY),
        ("substring(origin, 1) + substring(origin, 0, 1)", "WRE", STRING),
        ("concat(origin, '/', dest)", "EWR/IAH", STRING),
        ("coalesce(None, delay)", 17, LONG),
        ("hash(origin)", 69088, LONG),
    ],
)
def test_expression_gives_value_and_static_type(source: str, result: object, kind: FieldType) -> None:
    value = evaluate(source)
    assert (value, type(value)) == (result, type(result))
    assert compile_expression(source, SCHEMA).type is kind


def test_every_function_is_used_by_a_test_case() -> None:
    sources = " ".join(mark.args[1][i][0] for mark in _marks() for i in range(len(mark.args[1])))
    assert [name for name in FUNCTIONS if f"{name}(" not in sources] == []


def _marks() -> list[pytest.Mark]:
    return list(getattr(test_expression_gives_value_and_static_type, "pytestmark", []))


def test_plain_comparison_compiles_to_code_of_a_lambda() -> None:
    function = compile_expression("delay > 15", SCHEMA).function
    by_hand = eval("lambda v: v[2] > 15")
    assert [i.opname for i in dis.get_instructions(function)] == [i.opname for i in dis.get_instructions(by_hand)]


def test_compiled_function_has_no_builtins() -> None:
    assert compile_expression("delay", SCHEMA).function.__globals__["__builtins__"] == {}


def test_fields_shadow_the_names_value_and_timestamp() -> None:
    schema = RecordSchema(("value", "timestamp"), (LONG, LONG))
    expression = compile_expression("value + timestamp", schema)
    assert not expression.uses_timestamp
    assert expression.function((1, 2)) == 3
    assert expression.fields == ("value", "timestamp")


@pytest.mark.parametrize("source", ESCAPES)
def test_known_escapes_are_refused(source: str) -> None:
    refusal(source)


@pytest.mark.parametrize(
    "source",
    [
        "",
        "   ",
        "\0",
        "1\0",
        "1\n+ 1",
        "(1\n)",
        "\x0c1",
        "a" * 2001,
        "(" * 300,
        "(" * 49 + "1" + ")" * 48,
        "-" * 1990 + "1",
        "not " * 480 + "1",
        "[" * 100 + "]" * 100,
        "{" * 200,
        "lambda:" * 280 + "1",
        "1 if 1 else " * 160 + "1",
        "+".join(["1"] * 500),
        "1" * 2000,
        "f'{" * 60,
        "delay" + "[0]" * 300,
        "len(" * 300,
        "delay" + ".x" * 500,
        "((((" * 12 + "1 for x in " + "))))" * 12,
        "0x" + "f" * 1900,
        "1_" * 900 + "1",
        "delay and " * 190 + "delay or",
        "(" * 50 + "delay" + ",)" * 50 + "=1",
        "\ud800",
        "'\\N{DIGIT'",
        "'\\x'",
    ],
)
def test_huge_deep_and_broken_sources_are_refused(source: str) -> None:
    refusal(source)


@pytest.mark.parametrize(
    "source",
    [
        "delay ** 99999999",
        "2 ** delay ** delay",
        "(-2) ** 64",
        "delay * 9223372036854775807",
        "extra * 1000000000",
        "extra[0] * 1000000000",
        "1000000000 * extra",
        "extra[0] % 5",
        "1 << 64",
        "1 << -1",
        "delay << 62",
        "round(ratio, -1000000000)",
        "round(1e308)",
        "int(1e300)",
        "ceil(1e300)",
        "-(-9223372036854775807 - 1)",
        "abs(-9223372036854775807 - 1)",
        "delay + 9223372036854775807",
        "(delay + 9223372036854775807,)",
        "delay + 9223372036854775807 if delay else 0",
        "0 or delay + 9223372036854775807",
        "coalesce(delay + 9223372036854775807, 1)",
        "max(delay + 9223372036854775807, 1)",
        "split(origin, '')",
        "replace(origin, '', 'x')",
        "int(concat(" + ",".join(["'9999999999'"] * 5) + "))",
        "(-8) ** 0.5",
        "lower(extra)",
        "min(extra[1])",
        "float(extra)",
        "int(extra)",
    ],
)
def test_results_beyond_limits_fail_at_run_time(source: str) -> None:
    expression = compile_expression(source, SCHEMA)
    with pytest.raises(ExpressionFailure):
        expression.function(RECORD)


def test_long_strings_and_tuples_fail_at_run_time() -> None:
    doubled = compile_expression("origin + origin", SCHEMA).function
    assert doubled(("ab",)) == "abab"
    with pytest.raises(ExpressionFailure, match="larger than 1048576 bytes"):
        doubled(("x" * 600_000,))
    nested = compile_expression("(" + ", ".join(["extra"] * 100) + ")", SCHEMA).function
    small = (0,) * 10
    assert nested(("", "", 0, small)) == (small,) * 100
    with pytest.raises(ExpressionFailure, match="larger than 1048576 bytes"):
        nested(("", "", 0, (small,) * 200))
    with pytest.raises(ExpressionFailure, match="larger than 1048576 bytes"):
        compile_expression("replace(origin, 'x', origin)", SCHEMA).function(("x" * 2000,))


ATTRIBUTE = "attribute access ('.') is not part of the language"
ONE_RECORD = ": this expression reads one record, whose fields have their names alone: write"


@pytest.mark.parametrize(
    ("source", "offset", "words"),
    [
        ("delay > 15 and orign == 'EWR'", 15, "unknown name 'orign' (did you mean 'origin'?)"),
        ("  lowr(origin)", 2, "unknown function 'lowr' (did you mean 'lower'?)"),
        ("'é' + dset", 6, "unknown name 'dset' (did you mean 'dest'?)"),
        ("origin + delay", 0, "'+' cannot add string and long, convert with str(...)"),
        ("delay > origin", 0, "cannot compare long with string"),
        ("1 + lower(delay)", 10, "lower() takes a text here, got long"),
        ("substring(origin)", 0, "substring() takes 2 to 3 arguments, got 1"),
        ("origin + len", 9, "'len' is a function: write len(...)"),
        ("value['__class__']", 6, "'__class__' is not the name of a field"),
        ("extra['__class__']", 6, "'__class__' is not the name of a field"),
        ("extra[0]['__dict__']", 9, "'__dict__' is not the name of a field"),
        ("value['delay']", 0, "a field is read by its name alone: write delay"),
        ("value['dely']", 6, "the record has no field 'dely' (did you mean 'delay'?)"),
        ("(delay, 1)['a']", 11, "the items of a sequence have numbers from 0, not the name 'a'"),
        ("split(origin, ',')['a']", 19, "the items of a sequence have numbers from 0, not the name 'a'"),
        ("(delay, 1)[2]", 11, "a sequence of 2 items has no item 2"),
        ("[delay][-2]", 8, "a sequence of 1 item has no item -2"),
        ("None[0]", 0, "None has no items"),
        ("value[9]", 0, "the record has 5 fields, no item 9"),
        ("delay[0]", 0, "cannot take item 0 out of long"),
        ("delay >", 7, "not an expression: invalid syntax"),
        ("lower()", 0, "lower() takes 1 argument, got 0"),
        (
            "left.delay",
            0,
            f"{ATTRIBUTE}{ONE_RECORD} delay",
        ),
        ("right.dely", 0, f"{ATTRIBUTE}, and the record has no field 'dely' (did you mean 'delay'?)"),
        (
            "1 + value.delay",
            4,
            f"{ATTRIBUTE}{ONE_RECORD} delay",
        ),
        ("extra.id", 0, f"{ATTRIBUTE}: write extra['id'] for an item of a value"),
        ("origin.lower()", 0, f"{ATTRIBUTE}: write lower(origin)"),
        ("origin.format(1)", 0, f"{ATTRIBUTE}, and values have no methods"),
        ("origin.__class__", 0, ATTRIBUTE),
    ],
)
def test_error_has_offset_and_nearest_name(source: str, offset: int, words: str) -> None:
    error = refusal(source)
    assert (error.message, error.offset) == (words, offset)


def test_record_keeps_adds_and_replaces_fields() -> None:
    added = compile_record([("route", "origin + dest")], SCHEMA, keep=True)
    assert added.schema.names == (*SCHEMA.names, "route")
    assert added.function(RECORD) == (*RECORD, "EWRIAH")
    replaced = compile_record([("delay", "delay * 60"), ("late", "delay > 15")], SCHEMA, keep=True)
    assert replaced.schema.names == (*SCHEMA.names, "late")
    assert replaced.function(RECORD) == ("EWR", "IAH", 1020, ("a", 2), 0.5, True)
    selected = compile_record([("when", "timestamp"), ("who", "origin")], SCHEMA, keep=False)
    assert selected.schema == RecordSchema(("when", "who"), (LONG, STRING))
    assert selected.uses_timestamp
    assert selected.function(RECORD, 9) == (9, "EWR")


def test_error_in_record_names_its_column() -> None:
    with pytest.raises(ExpressionError) as refused:
        compile_record([("a", "delay"), ("b", "dlay")], SCHEMA, keep=False)
    assert refused.value.column == "b"


def test_compiled_code_uses_only_generated_names() -> None:
    function = compile_expression("f'{max(delay, 1) ** 2}' + origin if extra else lower(dest)", SCHEMA).function
    names = set(function.__code__.co_names)
    assert all(name.startswith("_") for name in names)
    assert names <= set(function.__globals__)


@pytest.mark.parametrize(("source", "words"), [("left['delay']", "unknown name 'left': write left.FIELD")])
def test_field_of_one_of_two_records_has_the_name_of_its_side(source: str, words: str) -> None:
    with pytest.raises(ExpressionError) as refused:
        compile_expression(source, SCHEMA.beside(SCHEMA))
    assert refused.value.message == words
