"""``VirtualTimeLoop.reaches_turn`` saves switches between actors and the loop, and changes nothing that a run records."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowsim.cluster.run_bounds import RunBounds
from flowsim.sim.virtual_time_loop import VirtualTimeLoop
from flowsim.testing import DrawnScenario, JobRun, Schedule, run_job, scenarios
from tests.support.examples import examples

pytestmark = pytest.mark.property

FIFO = st.builds(Schedule, st.just("fifo"), st.integers(0, 99), st.sampled_from([4096, 16, 2, 1]))
"""Under the policy ``random`` each event can be a choice, which the loop makes."""


def both(job: DrawnScenario, schedule: Schedule, bounds: RunBounds | None = None) -> tuple[JobRun, JobRun]:
    """Runs the job with and without the shortcut."""
    short = run_job(job, schedule=schedule, bounds=bounds)
    with patch.object(VirtualTimeLoop, "reaches_turn", lambda loop, actor, own=None: False):
        return short, run_job(job, schedule=schedule, bounds=bounds)


def claim_equal(short: JobRun, long: JobRun) -> None:
    short.claim("both record the same", expected=long.facts.facts_digest(), found=short.facts.facts_digest())
    ends = [(run.result.summary, run.result.report, str(run.result.error)) for run in (short, long)]
    short.claim("both end in the same way", expected=ends[1], found=ends[0])


@settings(max_examples=examples(12), deadline=None)
@given(scenarios(failing=True), FIFO)
def test_run_records_the_same(job: DrawnScenario, schedule: Schedule) -> None:
    claim_equal(*both(job, schedule))


@settings(max_examples=examples(12), deadline=None)
@given(scenarios(["plain", "async"]), FIFO, st.integers(1, 600))
def test_run_takes_the_same_steps(job: DrawnScenario, schedule: Schedule, steps: int) -> None:
    claim_equal(*both(job, schedule, RunBounds(steps=steps)))
