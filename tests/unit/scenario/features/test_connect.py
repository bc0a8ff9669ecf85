"""Operators with two inputs in scenarios: their results, and refused blocks."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowsim.cluster.job_execution import JobStatus
from flowsim.cluster.mini_cluster import execute
from flowsim.errors import ScenarioError
from flowsim.scenario.compiled import CompiledScenario
from flowsim.scenario.compiler import compile_scenario
from flowsim.scenario.loader import load_text

HEAD = """\
flowsim: 1
name: test
sources:
  orders:
    collection: {fields: {item: string, n: long}, rows: [[a, 1], [b, 2], [a, 3]]}
    watermarks: {timestamp: n * 1000, emit: every_record}
  prices:
    collection: {fields: {name: string, price: double}, rows: [[a, 0.5], [b, 1.5]]}
operators:
"""
SINK = "sinks: {out: {input: both, collect: {}, parallelism: 1}}\n"

PRICED = """\
from flowsim.datastream import CoProcessFunction, KeyedCoProcessFunction, OutputTag
from flowsim.datastream.common import Types
from flowsim.datastream.state import ValueStateDescriptor


class Priced(KeyedCoProcessFunction):
    def open(self, runtime_context):
        self.price = runtime_context.get_state(ValueStateDescriptor("price", Types.DOUBLE()))

    def process_element1(self, value, ctx):
        yield (value[0], value[1] * self.price.value())

    def process_element2(self, value, ctx):
        self.price.update(value[1])
        yield OutputTag("seen"), (value[0],)


class Plain(CoProcessFunction):
    def process_element1(self, value, ctx):
        yield (value[0], 1.0)

    def process_element2(self, value, ctx):
        yield value
"""


def compiled(text: str, folder: Path, *, allow_python: bool = False) -> CompiledScenario:
    scenario = load_text(text, "s.yaml", folder)
    return compile_scenario(scenario, out_dir=folder / "out", allow_python=allow_python)


def results(text: str, folder: Path, *, allow_python: bool = False) -> dict[str, list[object]]:
    job = compiled(text, folder, allow_python=allow_python)
    result = execute(job.stream_graph(), job.run_options())
    assert (result.status, result.error) == (JobStatus.FINISHED, None)
    return {sink.name: sink.collected.values() for sink in job.sinks if sink.collected is not None}


def refused(text: str, folder: Path) -> list[str]:
    with pytest.raises(ScenarioError) as error:
        compiled(text, folder)
    return str(error.value).splitlines()


def test_each_input_has_its_own_map(tmp_path: Path) -> None:
    body = """\
  both:
    input: orders
    connect:
      to: prices
      read: alternate
      map:
        - select: {what: "'order'", of: item, number: n * 1.0}
        - select: {what: "'price'", of: name, number: price}
"""
    assert results(HEAD + body + SINK, tmp_path)["out"] == [
        ("order", "a", 1.0), ("price", "a", 0.5), ("order", "b", 2.0), ("price", "b", 1.5), ("order", "a", 3.0),
    ]  # fmt: skip


def test_flat_map_per_input_with_union_as_second(tmp_path: Path) -> None:
    body = """\
  both:
    input: orders
    connect:
      to: [prices, prices]
      read: first
      flat_map:
        - {each: "(item, item)", into: name, type: string}
        - {each: "[name]", into: name, type: string}
"""
    found = results(HEAD + body + SINK, tmp_path)["out"]
    assert found[:6] == [(word,) for word in "aabbaa"]
    assert sorted(found[6:]) == [("a",), ("a",), ("b",), ("b",)]  # type: ignore[type-var]


@pytest.mark.parametrize("key", ["", "      key_by: [item, name]\n"])
def test_expression_may_use_timestamp(key: str, tmp_path: Path) -> None:
    body = f"""\
  both:
    input: orders
    connect:
      to: prices
      read: second
{key}      map:
        - select: {{of: item, at: timestamp}}
        - select: {{of: name, at: "5"}}
"""
    found = results(HEAD + body + SINK, tmp_path)["out"]
    assert sorted(found, key=str) == [("a", 1000), ("a", 3000), ("a", 5), ("b", 2000), ("b", 5)]


def test_python_function_shares_keyed_state_and_emits_to_side_output(tmp_path: Path) -> None:
    (tmp_path / "priced_here.py").write_text(PRICED)
    body = """\
  both:
    input: orders
    parallelism: 2
    connect:
      to: prices
      key_by: [item, name]
      read: second
      process: {python: "priced_here:Priced", fields: {item: string, cost: double}, side_outputs: {seen: {name: string}}}
"""
    end = "sinks:\n  out: {input: both, collect: {}}\n  seen: {input: both.seen, collect: {}}\n"
    found = results(HEAD + body + end, tmp_path, allow_python=True)
    assert sorted(found["out"]) == [("a", 0.5), ("a", 1.5), ("b", 3.0)]  # type: ignore[type-var]
    assert sorted(found["seen"]) == [("a",), ("b",)]  # type: ignore[type-var]


def test_python_function_without_keys_is_co_process_function(tmp_path: Path) -> None:
    (tmp_path / "plain_here.py").write_text(PRICED)
    body = """\
  both:
    input: orders
    connect:
      to: prices
      partition: broadcast
      process: {python: "plain_here:KIND", fields: {item: string, cost: double}}
"""
    found = results(HEAD + body.replace("KIND", "Plain") + SINK, tmp_path, allow_python=True)["out"]
    assert sorted(found) == [("a", 0.5), ("a", 1.0), ("a", 1.0), ("b", 1.0), ("b", 1.5)]  # type: ignore[type-var]
    with pytest.raises(ScenarioError, match="expected a function or a CoProcessFunction, got the class Priced"):
        compiled(HEAD + body.replace("KIND", "Priced") + SINK, tmp_path, allow_python=True)


MAPS = "[{select: {a: item}}, {select: {a: name}}]"


@pytest.mark.parametrize(
    ("operator", "error"),
    [
        (
            "{input: orders, connect: {to: price, map: " + MAPS + "}}",
            "s.yaml:10:39 operators.both.connect.to: there is no stream 'price' above (did you mean 'prices'?)",
        ),
        (
            "{input: orders, connect: {to: prices}}",
            "s.yaml:10:34 operators.both.connect: expected one of map, flat_map, process, got none of them",
        ),
        (
            "{input: orders, connect: {to: prices, map: [{select: {a: item}}]}}",
            "operators.both.connect.map: expected at least 2 entries, got a list of 1",
        ),
        (
            "{input: orders, connect: {to: prices, map: [{select: {a: item}}, {select: {a: price}}]}}",
            "expected the fields of the first, a: string, this gives a: double",
        ),
        (
            "{input: orders, connect: {to: prices, key_by: [item, price], map: " + MAPS + "}}",
            "expected keys of one type, the first is string, the second double",
        ),
        (
            "{input: orders, connect: {to: prices, key_by: [item, timestamp], map: " + MAPS + "}}",
            "a key cannot read the timestamp",
        ),
        (
            "{input: orders, key_by: item, connect: {to: prices, map: " + MAPS + "}}",
            "connect.key_by has the keys of both inputs, remove key_by",
        ),
        (
            "{input: orders, partition: global, connect: {to: prices, key_by: [item, name], map: " + MAPS + "}}",
            "connect.key_by decides the partition, remove partition",
        ),
        (
            "{input: orders, connect: {to: prices, read: both, map: " + MAPS + "}}",
            "expected 'any', 'first', 'second' or 'alternate', got 'both'",
        ),
        (
            "{input: orders, connect: {to: prices, map: [{python: 'a:b', fields: {a: string}}, {select: {a: name}}]}}",
            "a Python function over two inputs must be a process function",
        ),
    ],
)
def test_invalid_connect_is_refused(operator: str, error: str, tmp_path: Path) -> None:
    lines = refused(HEAD + f"  both: {operator}\n" + SINK, tmp_path)
    assert error in lines[0]
    assert lines[0].startswith("s.yaml:")


def test_readers_of_invalid_connect_report_no_further_error(tmp_path: Path) -> None:
    body = """\
  both:
    input: orders
    connect: {to: nowhere, process: {python: "a:b", fields: {a: string}, side_outputs: {seen: {name: string}}}}
  after: {input: both.seen, filter: name == 'a'}
"""
    (line,) = refused(HEAD + body + SINK, tmp_path)
    assert "there is no stream 'nowhere' above" in line
