"""The flights, killed at three moments and restored: Spark finds the results of the undisturbed job."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from flowsim.facts.kinds import Level
from flowsim.laws.law import Verdict
from flowsim.scenario.compiler import compile_scenario
from flowsim.scenario.loader import load_scenario
from flowsim.scenario.runner import run_compiled
from flowsim.validation.recompute import recompute

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SCENARIOS = Path(__file__).parents[2] / "scenarios"


def test_recovered_flights_have_the_results_of_the_undisturbed_job(spark: SparkSession, tmp_path: Path) -> None:
    compiled = compile_scenario(load_scenario(SCENARIOS / "01f_nyc_flights_recovered.yaml"), out_dir=tmp_path)
    run = run_compiled(compiled, out=tmp_path, record=Level.OFF)
    assert [outcome for outcome in run.expectations if outcome.met is False] == []
    assert [failure.time_ns // 1_000_000 for failure in run.result.failures] == [260, 502, 820]
    counts = run.result.checkpoints
    assert counts is not None
    assert (counts.completed, counts.restored) == (4, 3)
    source = SCENARIOS / "data" / "nyc_flights_2013.csv.gz"
    outcome = recompute(spark, SCENARIOS / "01_nyc_flights_recompute.py", source, tmp_path, allow_python=True)
    assert (outcome.verdict, outcome.violations) == (Verdict.HOLDS, 0)
