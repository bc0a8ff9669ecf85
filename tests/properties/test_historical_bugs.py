"""Jobs show bugs that Flink once had, once these are brought back: a small one for each, and random ones.

``--random-jobs N`` looks for every bug in N random jobs of each strategy, prints which are found, and takes hours of CPU
for large N; ``--random-seed S`` starts with those of seed S. Without it only bugs that random jobs show often are tried.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest

from flowsim.faults.historical.bug import register_bugs
from tests.support.faults.historical.catalogue import BUGS
from tests.support.faults.historical.hunt import PAGE
from tests.support.faults.historical.search import Finding

pytestmark = pytest.mark.property

JOBS = 100
"""Of each strategy, for the bugs that are often shown."""
LEAST_BUGS = 45
FOUND = 32
"""The least number of bugs that a search of 100 jobs of each strategy, from seed 0 on, finds."""


def run_in_pure_python(module: str, options: list[str], timeout_s: int | None) -> list[dict[str, Any]]:
    """Runs a module in another process, because a compiled core ignores changes of its methods; returns its lines."""
    done = subprocess.run(
        [sys.executable, "-m", f"tests.support.faults.historical.{module}", *options],
        env={**os.environ, "FLOWSIM_PURE": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout_s,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_job_of_each_bug_shows_it_by_its_detector_and_is_clean_without_it() -> None:
    shown = run_in_pure_python("check", [], 280)
    assert [each["ticket"] for each in shown] == [ticket for ticket, bug in BUGS.items() if bug.detector]
    assert len(shown) >= LEAST_BUGS
    assert [each for each in shown if each["strategy"] == "" or each["without_bug"]] == []


def test_hunt_counts_runs_of_strategies_of_the_space_of_a_bug() -> None:
    rows = run_in_pure_python("hunt", ["--bugs", "FLINK-7728", "--seeds", "3", "--json"], 100)
    of_strategy = {row["strategy"]: row for row in rows}
    assert list(of_strategy) == ["default", "order: uniform", "order: exhaustive"]
    default, uniform, exhaustive = of_strategy.values()
    # By default the input that holds back the others becomes idle first.
    assert (default["shown"], default["runs"]) == (0, None)
    assert (uniform["seeds"], uniform["shown"]) == (3, 3)
    assert exhaustive["runs"] >= 2
    assert uniform["deviations"] >= 1


def test_page_lists_every_bug() -> None:
    table = PAGE.read_text(encoding="utf-8").partition("| bug | described in |")[2].partition("\n\n")[0]
    listed = set(re.findall(r"^\| (\S+) \|", table, re.MULTILINE))
    assert listed == set(BUGS)


def test_bug_has_a_detector_or_a_reason() -> None:
    assert [ticket for ticket, bug in BUGS.items() if (bug.detector == "") is (bug.not_shown == "")] == []


def test_another_bug_of_one_ticket_is_refused() -> None:
    bug = BUGS["FLINK-7728"]
    register_bugs([bug])
    with pytest.raises(ValueError, match="there is another bug 'FLINK-7728'"):
        register_bugs([replace(bug, was_wrong="something else")])


@pytest.mark.timeout(0)
def test_random_jobs_show_historical_bugs(request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]) -> None:
    jobs, first = request.config.option.random_jobs, request.config.option.random_seed or 0
    options = ["--jobs", str(jobs or JOBS), "--seed", str(first), *([] if jobs else ["--cheap"])]
    searched = run_in_pure_python("search", options, None if jobs else 280)
    findings = [Finding(**line) for line in searched]
    found = [each for each in findings if each.strategy is not None]
    if jobs:
        with capsys.disabled():
            print("", *findings, f"{len(found)} of {len(findings)} bugs were found", sep="\n")
        assert len(findings) == len(BUGS)
        assert len(found) >= FOUND
    else:
        assert [each.ticket for each in findings if each.strategy is None] == []
        assert len(findings) == sum(bug.is_cheap for bug in BUGS.values())
