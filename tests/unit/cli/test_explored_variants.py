"""``flowsim explore --vary``: several values of a scenario, each explored by itself."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

from flowsim.cli.exit_code import ExitCode
from flowsim.cli.explored_variants import combinations

UNION = """\
flowsim: 1
name: union
sources:
  left: {collection: {fields: {n: long}, rows: [[1], [2]]}}
  right: {collection: {fields: {n: long}, rows: [[3]]}}
operators:
  both: {input: [left, right], map: {add: {m: n * 2}}}
sinks:
  all: {input: both, collect: {}}
expect: {every_schedule: {rows: {all: 3}}}
"""


@pytest.fixture
def union(tmp_path: Path) -> str:
    (tmp_path / "union.yaml").write_text(UNION)
    return "union.yaml"


def test_each_combination_is_explored_and_its_commands_repeat_it(flowsim: Any, union: str) -> None:
    called = flowsim(
        "explore", union, "--space", "order", "--runs", "90", "--json",
        "--vary", "sources.left.collection.rows=[[[1]], [[1], [2]], [[1], [2], [4]]]",
        "--vary", "operators.both.map.add.m=[n * 2, n + 1]",
    )  # fmt: skip
    variants = called.document["variants"]
    assert called.code == called.document["exit_code"] == ExitCode.BROKEN
    assert [len(each["results"]) for each in variants] == [2, 2, 3, 3, 4, 4]
    assert [len(each["findings"]) for each in variants] == [1, 1, 0, 0, 1, 1]
    assert sum(each["runs"] for each in variants) <= 90
    last = variants[-1]
    assert last["set"] == ["sources.left.collection.rows=[[1], [2], [4]]", 'operators.both.map.add.m="n + 1"']
    for result in last["results"]:
        again = flowsim(*shlex.split(result["replay"])[1:], "--json").document
        assert [list(row.values()) for row in again["sinks"][0]["records"]] == result["sinks"]["all"][0]
        assert {row["m"] - row["n"] for row in again["sinks"][0]["records"]} == {1}


def test_table_of_all_combinations_comes_first(flowsim: Any, union: str) -> None:
    shown = flowsim("explore", union, "--space", "order", "--vary", "sources.right.collection.rows=[[[3]], []]").out
    lines = [line.split() for line in shown.splitlines()]
    assert lines[0] == ["2", "combinations"]
    assert [[line[1], *line[3:]] for line in lines[3:5]] == [["3", "0", "tried"], ["1", "1", "tried"]]


@pytest.mark.parametrize(
    ("vary", "message"),
    [
        ("settings.seed=3", "--vary settings.seed=3: expected KEY=[VALUE, ...]"),
        ("settings.seed=[]", "expected KEY=[VALUE, ...]"),
        ("[1]", "expected KEY=[VALUE, ...]"),
        ("settings.seed=[1", "--vary settings.seed=[1:1:3 invalid YAML"),
        ("settings.sed=[1]", "settings.sed: unknown key 'sed' (did you mean 'seed'?)"),
        (f"settings.seed=[{'1, ' * 1_001}]", "1,001 combinations of values, expected at most 1,000"),
    ],
)
def test_refused(flowsim: Any, union: str, vary: str, message: str) -> None:
    called = flowsim("explore", union, "--vary", vary)
    assert (called.code, message in called.err) == (ExitCode.BAD_INPUT, True), called.err


def test_not_combined_with_resume(flowsim: Any, union: str, tmp_path: Path) -> None:
    called = flowsim("explore", union, "--vary", "settings.seed=[1]", "--resume", "kept.jsonl")
    assert (called.code, "--vary and --resume cannot be combined" in called.err) == (ExitCode.BAD_INPUT, True)
    assert not (tmp_path / "kept.jsonl").exists()


def test_combinations_are_those_of_all_values() -> None:
    assert combinations(["a=[1, x]", "b=[true]"]) == [("a=1", "b=true"), ('a="x"', "b=true")]
