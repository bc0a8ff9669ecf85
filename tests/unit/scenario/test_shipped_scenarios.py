"""Every shipped scenario meets its expectations, and every law has the expected verdict."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowsim.explore.checked_run import judged_in_memory
from flowsim.facts.kinds import Level
from flowsim.scenario.compiler import compile_scenario
from flowsim.scenario.expectations import law_is_as_expected
from flowsim.scenario.loader import load_scenario
from flowsim.scenario.runner import run_compiled

SCENARIOS = Path(__file__).parents[3] / "scenarios"
SMALL = [path for path in sorted(SCENARIOS.glob("*.yaml")) if not path.stem.startswith("01")]
"""The flights have tests of their own, on Spark."""


@pytest.mark.parametrize("path", SMALL, ids=lambda path: path.stem)
def test_scenario_meets_its_expectations(path: Path, tmp_path: Path) -> None:
    compiled = compile_scenario(load_scenario(path), out_dir=tmp_path / "out", allow_python=True)
    run = run_compiled(compiled, record=Level.FULL)
    assert [outcome for outcome in run.expectations if not outcome.met] == []
    outcomes = judged_in_memory(run)
    assert [o for o in outcomes if not law_is_as_expected(compiled.expect, o.law, o.verdict)] == []
