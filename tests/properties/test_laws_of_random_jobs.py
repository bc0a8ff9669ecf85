"""Random jobs of each public strategy finish, have the expected output and violate no law.

``--random-jobs N`` runs N jobs of each kind, ``--random-seed S`` those from seed S on; the seed of a failure repeats it.
"""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import strategies as st

import flowsim.testing
from flowsim.cluster.job_execution import JobStatus
from flowsim.laws.law import Verdict
from flowsim.testing import run_job, schedules
from tests.support.drawn import drawn

pytestmark = pytest.mark.property

JOBS = 3
"""Of each kind; the other tests of random jobs run more of them by default."""


@pytest.mark.parametrize("kind", ["random_jobs", "async_jobs", "window_jobs"])
def test_random_jobs_violate_no_law(kind: str, request: pytest.FixtureRequest) -> None:
    jobs, first = request.config.option.random_jobs or JOBS, request.config.option.random_seed or 0
    for seed in range(first, first + jobs):
        job, schedule = drawn(st.tuples(getattr(flowsim.testing, kind)(), schedules()), seed)
        run = run_job(job, schedule=schedule)
        assert run.result.status is JobStatus.FINISHED, (seed, run.result.report)
        assert {sink: Counter(run.values(sink)) for sink in job.expected} == job.expected, seed
        assert [outcome for outcome in run.outcomes if outcome.verdict is Verdict.VIOLATED] == [], seed
