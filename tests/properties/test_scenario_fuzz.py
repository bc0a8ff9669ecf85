"""Random input as a scenario file gives a scenario or a ScenarioError, never another exception."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowsim.errors import ScenarioError
from flowsim.scenario.compiler import compile_scenario
from flowsim.scenario.language.expressions import ExpressionError, compile_expression
from flowsim.scenario.language.record_schema import FieldType, RecordSchema
from flowsim.scenario.loader import load_text
from flowsim.scenario.yaml.positions import decode
from tests.support.examples import examples

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
RICH = """\
flowsim: 1
name: rich
settings: {parallelism: 2, max_parallelism: 8, until: 1 s}
sources:
  rows:
    collection: {fields: {word: string, n: long}, rows: [[a, 1], [b, 2]]}
    watermarks: {timestamp: n * 1000, max_out_of_orderness: 1 s, idle_after: 1 s}
  told:
    script:
      fields: {word: string, n: long}
      subtasks: [[{record: [a, 1], timestamp: 5, step: 0}, {watermark: 7}], [{idle: true}]]
  drawn:
    generator:
      pace: 1 ms
      fields: {n: {sequence: {step: 2}}, w: {choice: {values: [a, b]}}, t: {event_time: {jitter: 5 ms}}}
operators:
  both: {input: [rows, told], partition: rebalance, map: {add: {m: "max(n, 3) ** 2", s: "f'{word}!'"}}}
  some: {input: both, filter: "m > 3 and timestamp < 100"}
  each: {input: drawn, flat_map: {each: "split(w, 'a')", into: part, keep: [n]}}
  sums: {input: some, key_by: [word, s], reduce: {n: sum}, state_ttl: {ttl: 1 s, cleanup_incrementally: {cleanup_size: 2}}}
  windows:
    input: both
    key_by: {k: word + 'x'}
    window: {tumbling: 10 s, offset: 1 s, allowed_lateness: 1 s, late_output: late, trigger: {any_of: [event_time, {count: 3}]}}
    aggregate: {rows: count(), mean: avg(n), end: last(s)}
  asked:
    input: some
    async:
      mode: unordered
      capacity: 3
      timeout: 1 s
      latency: {lognormal: {median: 5 ms, p99: 50 ms}}
      spikes: {share: 0.1, latency: {each: n * 2}}
      fails: {share: 0.2, when: n > 1, first_attempts: 2}
      silent: {when: word == 'b'}
      add: {d: n * 2}
      on_timeout: {add: {d: n}}
      retry: {exponential: {max_attempts: 3, initial: 1 ms, max: 9 ms, multiplier: 2}, when: d > 5, when_empty: true}
  named:
    input: rows
    chaining: head
    slot_sharing_group: names
    async:
      mode: ordered
      latency: {uniform: {low: 0, high: 5 ms}}
      lookup:
        csv: data/airlines.csv
        columns: {carrier: string, name: string}
        key: upper(word)
        key_column: carrier
        missing: drop
sinks:
  a: {input: sums, parquet: {}}
  b: {input: [windows.late, both], csv: {path: x}}
  c: {input: windows, collect: {}}
  d: {input: each, print: {}, parallelism: 3, cost: 5 us}
  e: {input: [asked], collect: {}}
  f: {input: named, collect: {}}
faults: [{fault: drop_element, operator: windows, subtask: 0, channel: 14, at: 3}]
expect: {job: stopped, rows: {a: 5}, laws: {channel-fifo: violated}}
"""
SCHEMA = RecordSchema(("a", "b", "c"), (FieldType.LONG, FieldType.STRING, FieldType.ANY))


def load_anything(text: str, *overrides: str) -> None:
    try:
        load_text(text, "fuzz.yaml", ROOT / "scenarios", overrides).digest()
    except ScenarioError as error:
        if not str(error):
            raise


def compile_anything(text: str) -> None:
    try:
        compile_scenario(load_text(text, "fuzz.yaml", ROOT / "scenarios"), out_dir=ROOT / "out" / "never-written")
    except ScenarioError as error:
        if not str(error):
            raise


@st.composite
def mutated(draw: st.DrawFn, texts: list[str]) -> str:
    text = draw(st.sampled_from(texts))
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


@given(mutated(SHIPPED))
@settings(max_examples=examples(300), deadline=None)
def test_mutated_scenario_is_loaded_or_refused(text: str) -> None:
    load_anything(text)


@given(mutated([RICH]))
@settings(max_examples=examples(400), deadline=None)
def test_mutated_scenario_is_compiled_or_refused(text: str) -> None:
    compile_anything(text)


def test_unmutated_scenario_is_valid() -> None:
    job = compile_scenario(load_text(RICH, "rich.yaml", ROOT / "scenarios"), out_dir=ROOT / "out" / "never-written")
    assert len(job.stream_graph().nodes) == 16


@st.composite
def swapped_scalars(draw: st.DrawFn) -> str:
    """The rich scenario with one word or number replaced by another one of it, or by a snippet."""
    words = re.findall(r"[A-Za-z0-9_.-]+", RICH)
    index = draw(st.integers(0, len(words) - 1))
    other = draw(st.sampled_from(words) | st.sampled_from(SNIPPETS))
    places = [match.span() for match in re.finditer(r"[A-Za-z0-9_.-]+", RICH)]
    start, end = places[index]
    return RICH[:start] + other + RICH[end:]


@given(swapped_scalars())
@settings(max_examples=examples(600), deadline=None)
def test_scenario_with_swapped_word_is_compiled_or_refused(text: str) -> None:
    compile_anything(text)


@given(st.text(max_size=300) | st.lists(st.sampled_from(SNIPPETS), max_size=40).map("".join))
@settings(max_examples=examples(300), deadline=None)
def test_any_text_is_loaded_or_refused(text: str) -> None:
    load_anything(text)
    load_anything("flowsim: 1\nname: x\n" + text)


@given(st.binary(max_size=200))
@settings(max_examples=examples(100), deadline=None)
def test_any_bytes_are_loaded_or_refused(raw: bytes) -> None:
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
@settings(max_examples=examples(300), deadline=None)
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
@settings(max_examples=examples(600), deadline=None)
def test_any_expression_is_compiled_or_refused_and_results_stay_small(source: str) -> None:
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
