"""Random whole jobs with async operators here and on the real Flink: every record, watermark, status and call, in order.

Time is moved by hand on both sides, so every answer, timeout and retry comes at the same nanosecond here and there, and
everything that it sets going is over before the next one. A few jobs run on the wall clock, where all that happens is
far apart. ``job_comparison.py`` runs one job alone.
"""

from __future__ import annotations

import pytest

from flowsim.facts.kinds import Level
from flowsim.laws.catalogue import Verdict
from flowsim.laws.judge import check_all
from flowsim.recording.memory import MemoryRecorder
from tests.support.described.async_job_writer import AsyncJobWriter
from tests.support.described.job_comparison import FAILED, difference, ours, report, theirs
from tests.support.described.script_writer import goes_back
from tests.support.flink.machine import Differential

MAILS_THAT_WAIT = (1004, 1021)
"""Seeds of jobs in which mails wait that a yield must not run: of a timer, of the async operator before."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """With ``--flink-examples=N``: N random jobs, others than the fixed ones, and a twentieth of them on the wall clock."""
    more = metafunc.config.getoption("--flink-examples")
    if "seed" in metafunc.fixturenames:
        metafunc.parametrize("seed", range(1000, 1000 + more) if more else [*range(32), *MAILS_THAT_WAIT])
    if "wall_clock_seed" in metafunc.fixturenames:
        metafunc.parametrize("wall_clock_seed", range(1000, 1000 + more // 20) if more else range(3))


def test_random_jobs_emit_what_flink_emits_in_its_order(differential: Differential, seed: int) -> None:
    job = AsyncJobWriter(seed).job()
    expected = theirs(differential.flink, job)
    elements = 1 if isinstance(expected, str) else sum(map(len, expected.values()))
    with differential.comparing(f"async jobs: {job['family']}", commands=elements):
        told = difference(expected, ours(job))
        if told:
            pytest.fail(report(differential.flink, job, told), pytrace=False)


def test_jobs_on_the_wall_clock_emit_what_flink_emits(
    request: pytest.FixtureRequest, differential: Differential, wall_clock_seed: int
) -> None:
    apart_ms = 20 if request.config.getoption("--flink-examples") else 60
    job = AsyncJobWriter(wall_clock_seed).job_on_the_wall_clock(apart_ms)
    expected = theirs(differential.flink, job)
    elements = 1 if isinstance(expected, str) else sum(map(len, expected.values()))
    with differential.comparing("async jobs: wall clock", commands=elements):
        told = difference(expected, ours(job))
        if told:
            pytest.fail(report(differential.flink, job, told), pytrace=False)


def test_no_law_is_broken_by_a_job_that_does_what_flink_does(seed: int) -> None:
    job = AsyncJobWriter(seed).job()
    recorder = MemoryRecorder(Level.FULL)
    status = "failed" if ours(job, recorder=recorder) == FAILED else "complete"
    broken = {outcome.law for outcome in check_all(recorder, status) if outcome.verdict is Verdict.VIOLATED}
    assert broken <= ({"watermark-monotone"} if goes_back(job) else set())
