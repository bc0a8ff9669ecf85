"""Recorded jobs of coroutines: equal facts in every process, and every law holds."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from flowsim.cluster.job_execution import JobStatus, RunOptions
from flowsim.cluster.mini_cluster import MiniCluster
from flowsim.datastream import AsyncDataStream, AsyncFunction, AsyncRetryStrategy, StreamExecutionEnvironment
from flowsim.datastream.async_retry_predicates import has_exception_predicate
from flowsim.datastream.common import Duration
from flowsim.facts.kinds import Level
from flowsim.laws.judge import check_all
from flowsim.laws.law import Outcome, Verdict
from flowsim.recording.memory import MemoryRecorder
from flowsim.sim.rng import RandomStreams
from tests.support.jobs.coroutines import UNMARKED

pytestmark = UNMARKED
ROOT = Path(__file__).parents[3]
ASYNC_LAWS = ["async-order", "async-once", "async-capacity", "async-retries", "async-end"]


class Shaky(AsyncFunction):
    """Several waits at the same time, an error now and then, and calls that take too long."""

    def __init__(self, seed: int) -> None:
        self.random = RandomStreams(seed).stream("calls")

    async def async_invoke(self, value: Any) -> list[Any]:
        waits = [self.random.randrange(5_000) for _ in range(3)]
        if self.random.random() < 0.1:
            raise OSError("not now")
        if value % 17 == 5:
            await asyncio.sleep(60)
        await asyncio.gather(*(asyncio.sleep(wait / 1e6) for wait in waits))
        async with asyncio.TaskGroup() as group:
            for wait in waits[:2]:
                group.create_task(asyncio.sleep(wait / 1e6))
        return [value] * (value % 3)

    def timeout(self, value: Any) -> list[Any]:
        return [-value]


def recorded(seed: int, clock: str = "virtual") -> tuple[MemoryRecorder, str]:
    """Ordered calls behind unordered ones with retries, in several subtasks, in random order; rows may only be judged."""
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    records = env.from_collection(list(range(120))).rebalance()
    retry = AsyncRetryStrategy.exponential_backoff(9, 1, 8, 2.0, None, has_exception_predicate)
    first = AsyncDataStream.unordered_wait_with_retry(records, Shaky(seed), Duration.of_millis(300), retry, 6)
    second = first.map(abs).name("absolute")
    third = AsyncDataStream.ordered_wait(second, Patient(seed), Duration.of_millis(300), 3)
    third.key_by(lambda value: value).map(lambda value: value).print()
    recorder = MemoryRecorder(Level.FULL)
    options = RunOptions(seed=seed, policy="random", recorder=recorder, clock=clock)  # type: ignore[arg-type]
    ended = MiniCluster(env.stream_graph(), options).run()
    assert ended.status in (JobStatus.FINISHED, JobStatus.FAILED), ended.error
    return recorder, "complete" if ended.status is JobStatus.FINISHED else "failed"


class Patient(Shaky):
    """Only slow, never wrong."""

    async def async_invoke(self, value: Any) -> list[Any]:
        await asyncio.sleep(self.random.randrange(4_000) / 1e6)
        return [value]


def violations(recorder: MemoryRecorder, status: str) -> list[Outcome]:
    return [outcome for outcome in check_all(recorder, status) if outcome.verdict is Verdict.VIOLATED]


@pytest.mark.parametrize("seed", range(8))
def test_every_law_holds_for_jobs_of_coroutines(seed: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert violations(*recorded(seed)) == []


def test_every_async_law_examines_rows_and_holds(capsys: pytest.CaptureFixture[str]) -> None:
    recorder, status = recorded(0)
    verdicts = {outcome.law: outcome.verdict for outcome in check_all(recorder, status)}
    assert status == "complete"
    assert {law: verdicts[law] for law in ASYNC_LAWS} == dict.fromkeys(ASYNC_LAWS, Verdict.HOLDS)


def test_every_law_holds_on_real_clock(capsys: pytest.CaptureFixture[str]) -> None:
    assert violations(*recorded(3, "real")) == []


PROGRAM = """
import sys
sys.path.insert(0, {root!r})
from tests.unit.datastream.test_async_recordings import recorded
print("digest", recorded(5)[0].facts_digest())
"""


def test_equal_runs_give_equal_digest_under_any_hash_seed() -> None:
    """Whatever its hashes of texts and addresses are."""
    program = PROGRAM.format(root=str(ROOT))
    digests = set()
    for hash_seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=120, check=True
        )
        digests.add(done.stdout.splitlines()[-1])
    assert len(digests) == 1
