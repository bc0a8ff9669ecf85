"""Whatever a stranger puts into a scenario file, loading it gives a scenario or a ScenarioError, never anything else."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowsim.errors import ScenarioError
from flowsim.scenario.expressions import ExpressionError, compile_expression
from flowsim.scenario.loader import load_text
from flowsim.scenario.record_schema import FieldType, RecordSchema
from flowsim.scenario.yaml_positions import decode

pytestmark = [pytest.mark.property, pytest.mark.timeout(300)]

ROOT = Path(__file__).parents[2]
SHIPPED = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "scenarios").glob("*.yaml"))]
SNIPPETS = [
    "&a ",
    "*a",
    "!!str ",
    "<<: ",
    "{",
    "}",
    "[",
    "]",
    "- ",
    ": ",
    "? ",
    "|\n",
    ">-\n",
    "'",
    '"',
    "#",
    "\t",
    "\n",
    "  ",
    "%YAML 1.1\n",
    "---\n",
    "...\n",
    "null",
    "true",
    "1e9999",
    "0x1",
    "9" * 30,
    "-1",
    "\x00",
    "\ud800",
    "\u2028",
    "\ufeff",
    "é",
    "{}",
    "[]",
    "''",
    "count()",
    "python",
    "a.b:c",
    "10 ms",
    "input",
    "parallelism",
    "__class__",
    "../..",
    "/etc/passwd",
]
SCHEMA = RecordSchema(("a", "b", "c"), (FieldType.LONG, FieldType.STRING, FieldType.ANY))


def load_anything(text: str, *overrides: str) -> None:
    try:
        load_text(text, "fuzz.yaml", ROOT / "scenarios", overrides).digest()
    except ScenarioError as error:
        if not str(error):
            raise


@st.composite
def mutated(draw: st.DrawFn) -> str:
    text = draw(st.sampled_from(SHIPPED))
    for _ in range(draw(st.integers(1, 6))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.sampled_from([0, 0, 1, 2, 5, 40, 400])))
        text = text[:start] + draw(st.sampled_from(SNIPPETS) | st.text(max_size=8)) + text[end:]
    return text


values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(-2, 2) | st.sampled_from(SNIPPETS) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["csv", "input", "map", "a"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(mutated())
@settings(max_examples=300, deadline=None)
def test_a_mutated_scenario_is_loaded_or_refused(text: str) -> None:
    load_anything(text)


@given(st.text(max_size=300) | st.lists(st.sampled_from(SNIPPETS), max_size=40).map("".join))
@settings(max_examples=300, deadline=None)
def test_any_text_is_refused_cleanly(text: str) -> None:
    load_anything(text)
    load_anything("flowsim: 1\nname: x\n" + text)


@given(st.binary(max_size=200))
@settings(max_examples=100, deadline=None)
def test_any_bytes_are_refused_cleanly(raw: bytes) -> None:
    try:
        load_anything(decode(raw, "fuzz.yaml"))
    except ScenarioError as error:
        if not str(error):
            raise


@given(
    st.sampled_from(
        [
            "settings",
            "sources.flights.csv",
            "operators.hourly",
            "operators.hourly.key_by",
            "sinks",
            "sinks.late",
            "faults",
            "expect",
        ]
    ),
    st.sampled_from(["", ".x", ".path", ".input", "[0]", ".columns", ".parallelism", "..", ".window"]),
    values,
)
@settings(max_examples=300, deadline=None)
def test_any_override_is_applied_or_refused(path: str, rest: str, value: object) -> None:
    load_anything(SHIPPED[0], f"{path}{rest}={value!r}")


@given(
    st.lists(
        st.sampled_from(
            [
                "a",
                "b",
                "c",
                "value",
                "timestamp",
                "1",
                "2.5",
                "'x'",
                "None",
                "(",
                ")",
                "[",
                "]",
                ",",
                "+",
                "-",
                "*",
                "**",
                "/",
                "//",
                "%",
                "<<",
                ">>",
                "&",
                "|",
                "^",
                "~",
                "==",
                "<",
                "in",
                "not",
                "and",
                "or",
                "if",
                "else",
                "is",
                "len",
                "max",
                "str",
                "round",
                ".",
                "f'{",
                "}'",
                "lambda",
                ":",
                ":=",
                "for",
                "{",
                "}",
                "__class__",
                "split",
                "9223372036854775807",
                "1e308",
            ]
        ),
        max_size=14,
    ).map(" ".join)
)
@settings(max_examples=600, deadline=None)
def test_any_expression_is_compiled_or_refused_and_its_results_stay_small(source: str) -> None:
    try:
        expression = compile_expression(source, SCHEMA)
    except ExpressionError as error:
        if not 0 <= error.offset <= len(source):
            raise
        return
    arguments = ((5, "text", ("x", 3)), 7)[: 2 if expression.uses_timestamp else 1]
    try:
        result = expression.function(*arguments)
    except Exception as error:  # a record may not fit the expression; only what comes out is bounded
        if isinstance(error, (NameError, SystemError, MemoryError, RecursionError, AttributeError)):
            raise
        return
    assert len(repr(result)) < 10_000
