"""``flowsim explore --vary``: several values of a scenario, each explored by itself."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from flowsim.cli.exit_code import ExitCode
from flowsim.cli.varied import combinations
from tests.support.faults.historical.catalogue import BUGS

TOP = Path(__file__).parents[3]
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


DECLARED = UNION.replace("expect:", "vary: {settings.seed: [1, 2], operators.both.map.add.m: [n * 2, n + 1]}\nexpect:")


@pytest.mark.parametrize("option", ["--vary", ""])
def test_not_combined_with_resume(flowsim: Any, union: str, tmp_path: Path, option: str) -> None:
    if not option:
        Path(union).write_text(DECLARED)
    called = flowsim("explore", union, *([option, "settings.seed=[1]"] if option else []), "--resume", "kept.jsonl")
    message = f"{option or 'union.yaml: vary'} and --resume cannot be combined: give --set for each key that varies"
    assert (called.code, message in called.err) == (ExitCode.BAD_INPUT, True), called.err
    assert not (tmp_path / "kept.jsonl").exists()


def test_combinations_are_those_of_all_values() -> None:
    assert combinations(None, ["a=[1, x]", "b=[true]"]) == [("a=1", "b=true"), ('a="x"', "b=true")]


def test_scenario_says_what_varies_and_options_replace_it(flowsim: Any, union: str) -> None:
    Path(union).write_text(DECLARED)

    def sets(*options: str) -> list[list[str]]:
        called = flowsim("explore", union, "--space", "order", "--runs", "40", "--json", *options)
        return [each["set"] for each in called.document["variants"]]

    seeds, adds = (
        ["settings.seed=1", "settings.seed=2"],
        [f'operators.both.map.add.m="n {add}"' for add in ("* 2", "+ 1")],
    )
    assert sets() == [[seed, add] for seed in seeds for add in adds]
    assert sets("--set", "settings.seed=7") == [[add] for add in adds]
    assert sets("--vary", "settings.seed=[5]", "--vary", "settings.policy=[fifo]") == [
        ["settings.seed=5", add, 'settings.policy="fifo"'] for add in adds
    ]
    fixed = ("--set", "settings.seed=7", "--set", "operators.both.map.add.m=n")
    assert "variants" not in flowsim("explore", union, "--space", "order", "--json", *fixed).document


def test_token_belongs_to_the_values_of_its_run(flowsim: Any, union: str) -> None:
    Path(union).write_text(DECLARED)
    found = flowsim("explore", union, "--space", "order", "--runs", "80", "--json").document["variants"][-1]
    assert found["set"] == ["settings.seed=2", 'operators.both.map.add.m="n + 1"']
    token = found["results"][-1]["token"]
    again = flowsim("run", union, "--token", token, "--out", "out", "--json")
    rows = [list(row.values()) for row in again.document["sinks"][0]["records"]]
    assert rows == found["results"][-1]["sinks"]["all"][0]
    assert {row[1] - row[0] for row in rows} == {1}
    assert flowsim("explain", union, "--token", token).code == 0
    refused = flowsim("run", union, "--token", token, "--set", "settings.seed=1")
    assert (refused.code, "the token belongs to another job" in refused.err) == (ExitCode.BAD_INPUT, True)


@pytest.mark.parametrize(
    ("vary", "message"),
    [
        ("{settings.seed: 3}", "vary.settings.seed: expected a list"),
        ("{settings.seed: []}", "vary.settings.seed: expected at least 1"),
        ("{settings.sed: [1]}", "settings.sed: unknown key 'sed' (did you mean 'seed'?)"),
        (
            f"{{settings.seed: [{'1, ' * 1_001}]}}",
            "union.yaml: vary: 1,001 combinations of values, expected at most 1,000",
        ),
    ],
)
def test_declared_values_are_refused(flowsim: Any, union: str, vary: str, message: str) -> None:
    Path(union).write_text(f"{UNION}vary: {vary}\n")
    called = flowsim("explore", union)
    assert (called.code, message in called.err) == (ExitCode.BAD_INPUT, True), called.err


WITH_BUG = """\
import sys
import pytest
from flowsim.cli.main import main
from tests.support.faults.historical.catalogue import BUGS

BUGS[sys.argv.pop(1)].bring_back(pytest.MonkeyPatch())
main()
"""


def flowsim_with_bug(ticket: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Calls ``flowsim ...`` in another process, because a compiled core ignores changes of its methods."""
    variables = os.environ | {"FLOWSIM_PURE": "1", "PYTHONPATH": str(TOP)}
    command = [sys.executable, "-c", WITH_BUG, ticket, *arguments]
    return subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False)


def test_bug_of_some_settings_and_orders_is_found_and_reduced(tmp_path: Path) -> None:
    """FLINK-12351 needs object reuse, which is off by default, and a second record before the first answer."""
    bug = BUGS["FLINK-12351"]
    flowsim = partial(flowsim_with_bug, bug.ticket, tmp_path)
    without = bug.scenario.replace("settings: {object_reuse: true}\n", "")
    assert without != bug.scenario
    (tmp_path / "without.yaml").write_text(without)
    (tmp_path / "varied.yaml").write_text(f"{without}vary: {{settings.object_reuse: [false, true]}}\n")
    options = ("--space", "order", "--allow-python", "--json")
    assert json.loads(flowsim("explore", "without.yaml", *options).stdout)["findings"] == []
    called = flowsim("explore", "varied.yaml", *options, "--smaller", "small.yaml")
    assert called.returncode == ExitCode.BROKEN, called.stderr
    off, on = json.loads(called.stdout)["variants"]
    assert (off["findings"], len(on["findings"]), on["set"]) == ([], 1, ["settings.object_reuse=true"])
    (finding,) = on["findings"]
    assert "--set settings.object_reuse=true" in finding["replay"]
    again = flowsim("run", "varied.yaml", "--token", finding["token"], "--allow-python")
    assert again.returncode == ExitCode.BROKEN
    assert flowsim("run", "varied.yaml", "--allow-python").returncode == 0
    small = (tmp_path / "small.yaml").read_text()
    assert ("object_reuse: true" in small, "vary" in small) == (True, False)
