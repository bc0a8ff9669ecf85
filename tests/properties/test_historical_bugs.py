"""Random jobs of the public strategies show bugs that Flink once had, once these are brought back.

``--random-jobs N`` looks for every bug in N jobs of each strategy, prints which are found, and takes hours of CPU for
large N; ``--random-seed S`` starts with those of seed S. Without it only bugs that random jobs show often are tried.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.support.jobs.historical_bugs.catalogue import BUGS
from tests.support.jobs.historical_bugs.search import Finding

pytestmark = pytest.mark.property

JOBS = 100
"""Of each strategy, for the bugs that are often shown."""
FOUND = 32
"""The least number of bugs that a search of 100 jobs of each strategy, from seed 0 on, finds."""


@pytest.mark.timeout(0)
def test_random_jobs_show_historical_bugs(request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]) -> None:
    jobs, first = request.config.option.random_jobs, request.config.option.random_seed or 0
    options = ["--jobs", str(jobs or JOBS), "--seed", str(first), *([] if jobs else ["--cheap"])]
    # A compiled core ignores changes of its methods, so the jobs run in a process of pure Python.
    searched = subprocess.run(
        [sys.executable, "-m", "tests.support.jobs.historical_bugs.search", *options],
        env={**os.environ, "FLOWSIM_PURE": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=None if jobs else 280,
    )
    assert searched.returncode == 0, searched.stderr
    findings = [Finding(**json.loads(line)) for line in searched.stdout.splitlines()]
    found = [each for each in findings if each.strategy is not None]
    if jobs:
        with capsys.disabled():
            print("", *findings, f"{len(found)} of {len(findings)} bugs were found", sep="\n")
        assert len(findings) == len(BUGS)
        assert len(found) >= FOUND
    else:
        assert [each.ticket for each in findings if each.strategy is None] == []
        assert len(findings) == sum(bug.is_cheap for bug in BUGS)
