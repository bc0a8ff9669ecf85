"""Jobs on the real Flink show each divergence of the past, once it is brought back."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from tests.support.conform.finding import Finding
from tests.support.conform.past_divergences import DIVERGENCES
from tests.support.flink.machine import Differential


def found_with(how: str) -> list[Finding]:
    # A compiled core ignores changes of its methods, so the jobs run in a process of pure Python.
    searched = subprocess.run(
        [sys.executable, "-m", "tests.support.conform.finding", how],
        env={**os.environ, "FLOWSIM_PURE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert searched.returncode == 0, searched.stderr
    findings = [Finding(**json.loads(line)) for line in searched.stdout.splitlines()]
    assert [each for each in findings if each.shown_without] == []
    return findings


def test_random_jobs_show_past_divergences(differential: Differential) -> None:
    found = {each.divergence for each in found_with("generators") if each.shown}
    assert found == {each.name for each in DIVERGENCES}


def test_scenarios_show_past_divergences(differential: Differential) -> None:
    found = {each.divergence for each in found_with("scenarios") if each.shown}
    assert found == {each.name for each in DIVERGENCES if each.scenario is not None}
    assert len(found) == 5
