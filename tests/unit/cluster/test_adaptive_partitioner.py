"""Adaptive partition selection in whole jobs: failures, stored in-flight data, blocking exchanges (rules 2.3, 2.4)."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowsim.cluster.job_status import JobStatus
from flowsim.explore.checked_run import judged_in_memory
from flowsim.facts.kinds import Level
from flowsim.laws.law import Verdict
from flowsim.scenario.compiler import compile_scenario
from flowsim.scenario.loader import load_scenario
from flowsim.scenario.runner import run_compiled

SCENARIOS = Path(__file__).parents[3] / "scenarios"


@pytest.mark.parametrize("level", [Level.ELEMENTS, Level.FULL])
@pytest.mark.parametrize(
    ("scenario", "exchange"),
    [
        ("40a_aligned_under_back_pressure", "pipelined_bounded"),
        ("40b_unaligned_under_back_pressure", "pipelined_bounded"),
        ("44a_rebalance_to_a_slow_subtask", "blocking"),
    ],
)
def test_laws_hold_and_no_record_is_lost(scenario: str, exchange: str, level: Level, tmp_path: Path) -> None:
    overrides = ["settings.adaptive_partitioner={}", f"settings.exchange={exchange}", "expect={}"]
    loaded = load_scenario(SCENARIOS / f"{scenario}.yaml", overrides)
    run = run_compiled(compile_scenario(loaded, out_dir=tmp_path / "out"), record=level)
    assert run.result.status is JobStatus.FINISHED
    assert run.facts is not None
    edges = [str(row[5]) for row in run.facts.static_rows("edges")]
    assert any(text.endswith(" adaptive(4)") for text in edges), edges
    outcomes = {outcome.law: outcome for outcome in judged_in_memory(run)}
    assert [outcome for outcome in outcomes.values() if outcome.verdict is Verdict.VIOLATED] == []
    assert outcomes["distribution"].rows_examined > 1000
    assert [sink.rows for sink in run.sinks] == [1000]
