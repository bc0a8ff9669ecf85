"""Random whole jobs with async operators here and on the real Flink: every record, watermark, status and call, in order.

Time is moved by hand on both sides, so every answer, timeout and retry comes at the same nanosecond here and there, and
everything that it sets going is over before the next one. A few jobs run on the wall clock, where all that happens is
far apart. ``job_comparison.py`` runs one job alone.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from flowsim.facts.kinds import Level
from flowsim.laws.judge import check_all
from flowsim.laws.law import Verdict
from flowsim.recording.memory import MemoryRecorder
from tests.support.described.async_job_writer import AsyncJobWriter, determined, determined_on_the_wall_clock
from tests.support.described.job_comparison import difference, divergence, ours, report, theirs
from tests.support.described.script_writer import goes_back
from tests.support.flink.machine import Differential, seeds

MAILS_THAT_WAIT = json.loads(Path(__file__).with_name("mails_that_wait.json").read_text())
"""Jobs in which mails wait that a yield must not run: of a timer, of the async operator before."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A twentieth of the random jobs run on the wall clock."""
    if "seed" in metafunc.fixturenames:
        metafunc.parametrize("seed", seeds(metafunc.config, range(32)))
    if "wall_clock_seed" in metafunc.fixturenames:
        metafunc.parametrize("wall_clock_seed", seeds(metafunc.config, range(3), one_in=20))


def test_output_of_random_jobs_equals_flinks_in_order(differential: Differential, seed: int) -> None:
    job, expected = determined(differential.flink, seed)
    with differential.comparing(f"async jobs: {job['family']}", commands=expected.elements):
        reported = divergence(differential, job, expected)
        if reported:
            pytest.fail(report(differential.flink, job, reported), pytrace=False)


@pytest.mark.parametrize("name", MAILS_THAT_WAIT)
def test_yield_leaves_mails_of_upstream_operators_as_in_flink(differential: Differential, name: str) -> None:
    job = MAILS_THAT_WAIT[name]
    expected = theirs(differential.flink, job)
    with differential.comparing("async jobs: mails that wait", commands=expected.elements):
        assert difference(job, expected, ours(job)) == ""


def test_output_of_wall_clock_jobs_equals_flinks(
    request: pytest.FixtureRequest, differential: Differential, wall_clock_seed: int
) -> None:
    apart_ms = 20 if request.config.getoption("--flink-examples") else 60
    job = determined_on_the_wall_clock(differential.flink, wall_clock_seed, apart_ms)
    expected = theirs(differential.flink, job)
    with differential.comparing("async jobs: wall clock", commands=expected.elements):
        reported = divergence(differential, job, expected)
        if reported:
            pytest.fail(report(differential.flink, job, reported), pytrace=False)


def test_jobs_equal_to_flinks_violate_no_law(seed: int) -> None:
    job = AsyncJobWriter(seed).job()
    recorder = MemoryRecorder(Level.FULL)
    status = "failed" if ours(job, recorder=recorder).failure else "complete"
    broken = {outcome.law for outcome in check_all(recorder, status) if outcome.verdict is Verdict.VIOLATED}
    assert broken <= ({"watermark-monotone"} if goes_back(job) else set())
