"""Random whole jobs here and on the real Flink: every record, watermark and status at every subtask, in order.

A job that differs is printed with its seed and with the smallest job that differs as well; ``job_comparison.py`` runs
either alone.
"""

from __future__ import annotations

import pytest

from flowsim.facts.kinds import Level
from flowsim.laws.judge import check_all
from flowsim.laws.law import Verdict
from flowsim.recording.memory import MemoryRecorder
from tests.support.described.job_comparison import difference, divergence, ours, report, theirs
from tests.support.described.job_writer import JobWriter
from tests.support.described.script_writer import goes_back
from tests.support.flink.machine import Differential, seeds


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "seed" in metafunc.fixturenames:
        metafunc.parametrize("seed", seeds(metafunc.config, range(42)))


def test_output_of_random_jobs_equals_flinks_in_order(differential: Differential, seed: int) -> None:
    job = JobWriter(seed).job()
    expected = theirs(differential.flink, job)
    with differential.comparing(f"jobs: {job['family']}", commands=expected.elements):
        reported = divergence(differential, job, expected)
        if reported:
            pytest.fail(report(differential.flink, job, reported), pytrace=False)


def test_random_schedule_keeps_output_that_flink_determines(seed: int) -> None:
    """So that what was compared on one schedule holds on others."""
    job = JobWriter(seed).job()
    assert difference(job, ours(job, policy="random", seed=seed), ours(job)) == ""


def test_jobs_equal_to_flinks_violate_no_law(seed: int) -> None:
    job = JobWriter(seed).job()
    recorder = MemoryRecorder(Level.FULL)
    status = "failed" if ours(job, recorder=recorder).failure else "complete"
    broken = {outcome.law for outcome in check_all(recorder, status) if outcome.verdict is Verdict.VIOLATED}
    assert broken <= ({"watermark-monotone"} if goes_back(job) else set())
