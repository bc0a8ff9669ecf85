"""An exploration of the runtime space chooses which task fails, and when."""

from __future__ import annotations

from typing import Any

import pytest

from flowsim.cluster.job_status import JobStatus
from flowsim.sim.choice_token import ChoiceToken, Recorded, Sampled
from flowsim.sim.exploring_loop import Space
from flowsim.sim.sampled.by_strategy import replay
from flowsim.sim.sampled.pos import PosRun
from flowsim.sim.sampled.sampled_run import SampledRun
from flowsim.sim.sampled.uniform import UniformRun
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
        source: SampledRun = run("runtime", Sampled("any", seed, 60))
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
    source = UniformRun("runtime", Sampled("uniform", 1, 60))
    first = failing.result(source)
    again = failing.result(replay(ChoiceToken.parse(str(source.token(failing.digest)))))
    assert [str(each) for each in again.failures] == [str(each) for each in first.failures] != []
