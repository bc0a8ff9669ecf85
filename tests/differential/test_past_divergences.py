"""Scenarios on the real Flink show divergences of the past, once these are brought back."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from tests.support.conform.finding import Finding
from tests.support.conform.past_divergences import DIVERGENCES
from tests.support.flink.machine import Differential


def test_scenarios_show_past_divergences(differential: Differential) -> None:
    # A compiled core ignores changes of its methods, so the jobs run in a process of pure Python.
    searched = subprocess.run(
        [sys.executable, "-m", "tests.support.conform.finding"],
        env={**os.environ, "FLOWSIM_PURE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert searched.returncode == 0, searched.stderr
    findings = [Finding(**json.loads(line)) for line in searched.stdout.splitlines()]
    assert [each for each in findings if each.shown_without] == []
    assert [each.divergence for each in findings if each.shown] == [each.name for each in DIVERGENCES]
