"""Random schedules keep what Flink determines: what was compared with Flink on one schedule holds on others."""

from __future__ import annotations

import pytest

from flowsim.conform.both_sides import Here
from flowsim.conform.compared_job import jobs_of_scenario
from flowsim.conform.comparison import Agreement, compared
from flowsim.testing.drawing.draft import Family
from flowsim.testing.drawing.families import numbered_scenario

pytestmark = pytest.mark.property

NUMBERS = 12
LOCAL, REMOTE = 2, 1
"""Seeds of random schedules; those of odd seeds have remote channels."""


@pytest.mark.parametrize("family", ["plain", "event_time", "async"])
def test_every_subtask_of_a_determined_scenario_sees_the_same_elements_in_the_same_order(family: Family) -> None:
    for number in range(NUMBERS):
        jobs = jobs_of_scenario(numbered_scenario(number, family=family).compiled())
        in_order = Here(jobs).run()
        for seed in (LOCAL, REMOTE):
            for job, run, other in zip(jobs, in_order, Here(jobs).run(seed), strict=True):
                found = compared([run.answer], [other.answer], job.operators)
                assert (found.agrees, found.worst) == (True, Agreement.EXACT), (number, seed)
