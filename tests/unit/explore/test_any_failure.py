"""An exploration of the runtime space chooses which task fails, and when."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from flowsim.cluster.job_status import JobStatus
from flowsim.explore.strategies.pos import PosRun
from flowsim.explore.strategies.strategy import SampledRun
from flowsim.explore.strategies.uniform import UniformRun
from flowsim.sim.choice_token import ChoiceToken, Recorded, Replayed
from flowsim.sim.exploring_loop import Space
from tests.support.explore.tiny_jobs import explored

ROWS = [["a", 1], ["b", 2], ["a", 3], ["b", 4]]
SUMS = [("a", 1), ("a", 4), ("b", 2), ("b", 6)]


def job(most: int = 1) -> dict[str, Any]:
    """A job with checkpoints, in which any task may fail."""
    script = {"fields": {"k": "string", "n": "long"}, "gap": "10 ms", "subtasks": [[{"record": row} for row in ROWS]]}
    return {
        "flowsim": 1,
        "name": "failing",
        "settings": {
            "checkpointing": {"interval": "20 ms"},
            "restart_strategy": {"fixed_delay": {"attempts": 10, "delay": "1 ms"}},
        },
        "sources": {"read": {"script": script}},
        "operators": {"sums": {"input": "read", "key_by": "k", "parallelism": 2, "sum": "n"}},
        "sinks": {"out": {"input": "sums", "collect": {}, "parallelism": 1}},
        "failures": [{"fail_any_task": {"most": most}}],
    }


@pytest.mark.parametrize("space", ["order", "runtime"])
def test_no_task_fails_by_default(space: Space) -> None:
    result = explored(job(), space).result(Recorded(space))
    assert result.failures == ()


@pytest.mark.parametrize("run", [UniformRun, PosRun])
def test_sampled_run_lets_a_task_fail_and_the_results_stay_exact(run: Any) -> None:
    failing = explored(job(2), "runtime")
    failing.bound_by(100)
    failed, finished = set(), 0
    for seed in range(8):
        source: SampledRun = run("runtime", Random(seed), 60)
        result = failing.result(source)
        chosen = [each.task for each in result.failures if "as the exploration has chosen" in each.error]
        assert len(chosen) <= 2  # checkpoints that expire while time passes are failures as well
        failed.update(chosen)
        # An unfair schedule lets every checkpoint expire, until no restart is left.
        if result.status is JobStatus.FINISHED:
            finished += 1
            assert sorted(failing.outcome(result).rows["out"][0]) == SUMS
    assert len(failed) > 2
    assert finished > 4


def test_token_repeats_the_failure() -> None:
    failing = explored(job(), "runtime")
    source = UniformRun("runtime", Random(1), 60)
    first = failing.result(source)
    again = failing.result(Replayed(ChoiceToken.parse(str(source.token(failing.digest)))))
    assert [str(each) for each in again.failures] == [str(each) for each in first.failures] != []
