"""The operator that docs/conform.md adds from three files: a drawn scenario with it agrees with the real Flink."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from flowsim.conform.compared_job import jobs_of_scenario
from flowsim.conform.java_machine import FlinkMissing, check_installed
from flowsim.conform.unsupported import Unsupported
from flowsim.testing import DrawnScenario, numbered_scenario
from tests.support.conform.toy_operator import toy_operator

ROOT = Path(__file__).parents[2]
ENOUGH = 6
"""Records that the operator gets."""


@pytest.fixture(autouse=True)
def needs_flink() -> None:
    try:
        check_installed()
    except FlinkMissing as missing:
        pytest.skip(str(missing))


def conform(folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs the command of the page."""
    return subprocess.run(
        [sys.executable, "every.py", "conform", "drawn.yaml", "--repeat", "1", "--json"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(folder / "cache")},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def halved(number: int) -> tuple[DrawnScenario, str, str] | None:
    """Returns a scenario in which the operator keeps every second record for one reader, with the names of both."""
    scenario = numbered_scenario(number, family="plain")
    sources: Any = scenario.data["sources"]
    operators: Any = scenario.data["operators"]
    halving = [name for name, block in operators.items() if block.get("every") == {"n": 2}]
    readers = [name for name, block in operators.items() if block["input"] in halving and "connect" not in block]
    if len(halving) != 1 or len(readers) != 1 or {"actions", "failures"} & scenario.data.keys():
        return None
    block = operators[halving[0]]
    source = sources.get(block["input"]) if isinstance(block["input"], str) else None
    if block["parallelism"] != 1 or source is None or str(source).count("'record'") < ENOUGH:
        return None
    try:
        jobs_of_scenario(scenario.compiled())[0].check()
    except Unsupported:
        return None
    return scenario, halving[0], readers[0]


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_drawn_scenario_with_operator_of_other_package_conforms(tmp_path: Path) -> None:
    with toy_operator(tmp_path):
        scenario, halving, reader = next(filter(None, map(halved, range(1_000))))
    (tmp_path / "drawn.yaml").write_text(scenario.yaml)
    run = conform(tmp_path)
    assert run.returncode == 0, run.stderr + run.stdout
    document = json.loads(run.stdout)
    records: Counter[str] = Counter()
    for place in document["phases"][0]["subtasks"]:
        records[place["subtask"].partition("/")[0]] += place["records"]
    assert document["verdict"] == "agrees"
    assert records[halving] >= ENOUGH
    assert records[reader] == records[halving] // 2
    registration = tmp_path / "every.py"
    registration.write_text(registration.read_text().replace('"every.Every"', '"every.Other"'))
    run = conform(tmp_path)
    assert (run.returncode, run.stderr.splitlines()[-1]) == (
        2,
        f"error: the Java files in {tmp_path / 'java'} have no class every.Other, which is registered as a builder",
    )
