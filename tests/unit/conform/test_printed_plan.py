"""The printed plan: names instead of numbers, nothing refused, and every key in docs/plan.md."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from flowsim.conform.printed_plan import printed_plan
from flowsim.datastream import StreamExecutionEnvironment
from flowsim.scenario.compiler import compile_scenario
from flowsim.scenario.loader import load_scenario

ROOT = Path(__file__).parents[3]
SCENARIOS = sorted((ROOT / "scenarios").glob("*.yaml"))


def plan_of(path: Path, out: Path) -> Any:
    compiled = compile_scenario(load_scenario(path), out_dir=out, allow_python=True)
    return json.loads(json.dumps(printed_plan(compiled.stream_graph())))


def keys(value: object) -> Iterator[str]:
    """The keys of a plan; those of ``params`` are the operator's own."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            if key != "params":
                yield from keys(inner)
    if isinstance(value, list):
        for inner in value:
            yield from keys(inner)


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_every_key_of_a_plan_is_documented(path: Path, tmp_path: Path) -> None:
    plan = plan_of(path, tmp_path)
    documented = set(re.findall(r"^\| `(\w+)` \|", (ROOT / "docs/plan.md").read_text(), re.M))
    assert set(keys(plan)) <= documented
    assert plan["flowsim_plan"] == 1


def increased(number: int) -> int:
    return number + 1


def test_functions_have_names(tmp_path: Path) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection([1]).map(increased).key_by(lambda n: n % 2).reduce(max).print()
    nodes: Any = printed_plan(env.stream_graph())["nodes"]
    functions = [node["operator"].get("function") for node in nodes]
    assert functions == [None, f"{__name__}:increased", "builtins:max", None]
    assert nodes[2]["operator"]["keys"] == [f"{__name__}:test_functions_have_names.<locals>.<lambda>"]
    expressions = plan_of(ROOT / "scenarios/13_sessions_merge.yaml", tmp_path)["nodes"]
    assert expressions[1]["operator"]["keys"] == ["expression"]


def test_an_operator_that_flink_lacks_has_the_reason(tmp_path: Path) -> None:
    nodes = plan_of(ROOT / "scenarios/28_async_two_designs.yaml", tmp_path)["nodes"]
    (refused,) = (node["operator"] for node in nodes if node["operator"].get("not_on_flink"))
    assert refused == {
        "kind": None,
        "not_on_flink": "operator 'before_asked': the interpreter cannot build a LegacyAsyncWaitOperator",
    }


def test_an_operator_that_selects_its_input_has_the_reason(tmp_path: Path) -> None:
    nodes = plan_of(ROOT / "scenarios/10_union_or_two_inputs.yaml", tmp_path)["nodes"]
    (refused,) = (node["operator"] for node in nodes if node["operator"].get("not_on_flink"))
    assert refused["not_on_flink"] == "operator 'priced': Java's ready-made operators do not select their input"


def test_blocking_exchanges_are_printed(tmp_path: Path) -> None:
    nodes = plan_of(ROOT / "scenarios/09_blocking_or_pipelined.yaml", tmp_path)["nodes"]
    assert "blocking" in {edge["exchange"] for node in nodes for edge in node["inputs"]}
