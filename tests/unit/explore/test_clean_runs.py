"""Random jobs without a bug show nothing; ``python -m tests.support.explore.clean_runs --jobs 100000`` tries more of them."""

from __future__ import annotations

from collections import Counter

import pytest

from flowsim.testing import DrawnScenario
from tests.support.explore.clean_runs import explore_jobs

FIRST, JOBS = 2, 4


def test_random_jobs_show_no_false_alarm() -> None:
    clean = explore_jobs(JOBS, FIRST, runs=1)
    assert (clean.jobs, clean.runs, clean.alarms) == (JOBS, 2 * JOBS, [])


def test_wrong_rows_are_an_alarm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DrawnScenario, "expected", {"out0": Counter({(0,): 1})})
    clean = explore_jobs(1, FIRST, runs=1)
    assert [alarm.rpartition(": ")[2] for alarm in clean.alarms] == ["other output", "other rows", "other rows"]
