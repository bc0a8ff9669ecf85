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

from flowsim.conform.java_machine import FlinkMissing, check_installed
from flowsim.testing import numbered_scenario
from tests.support.conform.toy_operator import toy_operator

ROOT = Path(__file__).parents[2]


NUMBER = 0
"""Of a drawn scenario in which the operator keeps every second record."""


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


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_drawn_scenario_with_operator_of_other_package_conforms(tmp_path: Path) -> None:
    with toy_operator(tmp_path):
        scenario = numbered_scenario(NUMBER, family="plain")
    (tmp_path / "drawn.yaml").write_text(scenario.yaml)
    run = conform(tmp_path)
    assert run.returncode == 0, run.stderr + run.stdout
    document = json.loads(run.stdout)
    records: Counter[str] = Counter()
    for place in document["phases"][0]["subtasks"]:
        records[place["subtask"].partition("/")[0]] += place["records"]
    operators: Any = scenario.data["operators"]
    (halving,) = (name for name, block in operators.items() if block.get("every") == {"n": 2})
    (reader,) = (name for name, block in operators.items() if block["input"] == halving)
    assert document["verdict"] == "agrees"
    assert (records[halving], records[reader]) == (12, 6)
    registration = tmp_path / "every.py"
    registration.write_text(registration.read_text().replace('"every.Every"', '"every.Other"'))
    run = conform(tmp_path)
    assert (run.returncode, run.stderr.splitlines()[-1]) == (
        2,
        f"error: the Java files in {tmp_path / 'java'} have no class every.Other, which is registered as a builder",
    )
