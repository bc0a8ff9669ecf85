"""Operators of other packages: a key of operators like any other, until its registration is undone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from flowsim.cli.main import app
from flowsim.conform.operators import OPERATORS, Built, java_sources, register_builder
from flowsim.errors import ScenarioError
from flowsim.operators.functions.basic import MapOperator
from flowsim.scenario.features.sinks import EmptyModel
from flowsim.scenario.json_schema import json_schema
from flowsim.scenario.loader import load_text
from flowsim.scenario.operators import OPERATOR_KINDS, OperatorKind, register_operator
from flowsim.scenario.runner import run_compiled
from flowsim.testing import numbered_scenario
from tests.support.conform.toy_operator import toy_operator, write_toy_operator
from tests.support.jobs.scenarios import compiled, refused

JOB = """\
flowsim: 1
name: toy
sources:
  numbers: {collection: {fields: {k: string, n: long}, rows: [[a, 1], [b, 2], [a, 3], [b, 4], [a, 5]]}}
operators:
  kept: {input: numbers, every: {n: 2}}
sinks:
  out: {input: kept, collect: {}}
"""


@pytest.fixture
def toy(tmp_path: Path) -> Iterator[None]:
    with toy_operator(tmp_path / "toy"):
        yield


def test_page_has_three_files(tmp_path: Path) -> None:
    files = [str(file.relative_to(tmp_path)) for file in write_toy_operator(tmp_path)]
    assert files == ["every.py", "java/Every.java", "every_part.py"]


@pytest.mark.usefixtures("toy")
def test_scenario_with_registered_operator_runs(tmp_path: Path) -> None:
    job = compiled(JOB, tmp_path)
    run_compiled(job)
    (sink,) = job.sinks
    assert sink.collected is not None
    assert sink.collected.values() == [("b", 2), ("b", 4)]


@pytest.mark.usefixtures("toy")
@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("n: 2", "n: 0", "toy.yaml:6:37 operators.kept.every.n: expected a value >= 1, got 0"),
        ("n: 2", "n: 2, m: 2", "toy.yaml:6:40 operators.kept.every.m: unknown key 'm'"),
        (
            "every: {n: 2}",
            "evry: {n: 2}",
            "toy.yaml:6:26 operators.kept.evry: unknown key 'evry' (did you mean 'every'?)",
        ),
        (", every: {n: 2}", "", "toy.yaml:6:9 operators.kept: expected one of map, filter, "),
        ("{n: 2}", "{n: 2}, filter: n > 1", "toy.yaml:6:9 operators.kept: expected one of map, filter, "),
        (
            "{n: 2}",
            "{n: 2}, window: {tumbling: 1 s}",
            "a window needs aggregate, reduce or process, this operator is a every",
        ),
    ],
)
def test_mistakes_in_registered_operator_have_positions(old: str, new: str, message: str) -> None:
    with pytest.raises(ScenarioError) as error:
        load_text(JOB.replace(old, new), "toy.yaml", Path())
    assert message in str(error.value)


@pytest.mark.usefixtures("toy")
def test_schema_and_graph_know_registered_operator(tmp_path: Path) -> None:
    operator = json_schema()["$defs"]["OperatorModel"]
    assert operator["properties"]["every"] == {"$ref": "#/$defs/EveryModel", "description": "Keeps every n-th record."}
    assert ["every"] in [each["required"] for each in operator["then"]["allOf"][0]["if"]["not"]["anyOf"]]
    (tmp_path / "toy.yaml").write_text(JOB)
    printed = CliRunner().invoke(app, ["graph", str(tmp_path / "toy.yaml"), "--format", "plan"], catch_exceptions=False)
    nodes = {node["name"]: node["operator"] for node in json.loads(printed.stdout)["nodes"]}
    assert nodes["kept"] == {"n": 2, "kind": "every.Every", "keys": []}


def test_undone_registration_leaves_no_trace(tmp_path: Path) -> None:
    def state() -> list[object]:
        drawn = [numbered_scenario(number).yaml for number in range(20)]
        return [json_schema(), java_sources(), dict(OPERATOR_KINDS), dict(OPERATORS), drawn]

    before = state()
    with toy_operator(tmp_path):
        assert [here == there for here, there in zip(state(), before, strict=True)] == [False] * 5
        assert java_sources() == {"every.Every": tmp_path / "java"}
    assert state() == before
    (message,) = refused(JOB, tmp_path)
    assert "operators.kept.every: unknown key 'every'" in message


@pytest.mark.parametrize("name", ["map", "async", "async_calls", "window", "inputs", "no name", ""])
def test_name_that_operators_have_already_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"a kind of operator cannot have the name '{name}'"):
        register_operator(name, OperatorKind(print, block=EmptyModel))


@pytest.mark.usefixtures("toy")
def test_second_registration_is_refused_unless_it_is_equal() -> None:
    register_operator("every", OPERATOR_KINDS["every"])
    with pytest.raises(ValueError, match="there is another kind of operator 'every'"):
        register_operator("every", OperatorKind(print, block=EmptyModel))
    with pytest.raises(ValueError, match="the kind of operator 'other' has no block"):
        register_operator("other", OperatorKind(print))
    with pytest.raises(ValueError, match="the interpreter builds MapOperator already"):
        register_builder(MapOperator, Built("every.Every"))
