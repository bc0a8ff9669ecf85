"""The layers hold, and the judge knows nothing of what it judges."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import grimp

REPOSITORY = Path(__file__).parents[2]

THE_JUDGE_MAY_IMPORT = {
    "flowsim.distribution",
    "flowsim.errors",
    "flowsim.facts",
    "flowsim.facts.kinds",
    "flowsim.facts.schema",
    "flowsim.laws",
    "flowsim.laws.law",
    "flowsim.units",
    "flowsim.values",
}


def test_the_contracts_of_import_linter_hold() -> None:
    command = Path(sys.executable).with_name("lint-imports")
    run = subprocess.run([str(command)], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


def test_the_judge_reaches_only_the_schema_the_catalogue_and_values() -> None:
    """Through any number of steps: a verdict must not rest on the code that it is about."""
    graph = grimp.build_graph("flowsim", cache_dir=None)
    judge = graph.find_descendants("flowsim.validation") | {"flowsim.validation"}
    reached = {module for part in judge for module in graph.find_upstream_modules(part)} - judge
    values = {module for module in reached if module.startswith("flowsim.values.")}
    assert reached - values - THE_JUDGE_MAY_IMPORT == set()


def test_the_judge_of_the_contracts_sees_a_forbidden_import() -> None:
    graph = grimp.build_graph("flowsim", cache_dir=None)
    graph.add_import(importer="flowsim.validation.spark_session", imported="flowsim.sim.scheduler")
    assert "flowsim.sim.scheduler" in graph.find_upstream_modules("flowsim.validation.spark_session")
