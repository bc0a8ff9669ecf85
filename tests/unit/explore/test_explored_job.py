"""Jobs that an exploration runs: what ends a run that works without end."""

from __future__ import annotations

import asyncio

import pytest

from flowsim.cluster.job_execution import RunOptions
from flowsim.cluster.job_status import JobStatus
from flowsim.cluster.run_bounds import RunBounds
from flowsim.datastream import AsyncDataStream, AsyncFunction, StreamExecutionEnvironment
from flowsim.datastream.common import Time
from flowsim.explore import explored_job
from flowsim.explore.explored_job import ExploredJob
from flowsim.explore.job_exploration import explore_job
from flowsim.explore.outcome import BOUND_REACHED
from flowsim.graph.stream_graph import StreamGraph
from flowsim.sim.choice_token import ChoiceToken, Recorded, Replayed, job_id
from flowsim.sim.exploring_loop import Space
from flowsim.testing import DrawnScenario
from tests.support.explore.tiny_jobs import explored, tiny_job


class Waiting(AsyncFunction):
    """Waits for a year if 2 came before 1."""

    def __init__(self) -> None:
        self.first = 0

    async def async_invoke(self, value: int) -> list[int]:
        self.first = self.first or value
        if self.first == 2:
            await asyncio.sleep(365 * 86_400)
        return [value]


def endless() -> StreamGraph:
    """While the function waits, checkpoints expire every ten minutes, of which a year has many."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.enable_checkpointing(100)
    env.get_checkpoint_config().set_tolerable_checkpoint_failure_number(1_000_000)
    both = env.from_collection([1]).union(env.from_collection([2]))
    AsyncDataStream.unordered_wait(both, Waiting(), Time.days(366)).name("calls")
    return env.stream_graph("endless")


@pytest.mark.parametrize("space", ["order", "runtime"])
def test_run_without_end_is_a_result_with_the_same_bounds_for_all(
    space: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(explored_job, "_SURELY", 1_000)
    job = ExploredJob(endless(), RunOptions(), "endless", space)
    found = explore_job(job, 30, strategy="uniform")
    bounded = [one.outcome for one in found.results.values() if one.outcome.is_bounded]
    assert [(outcome.status, outcome.cause, outcome.rows) for outcome in bounded] == [
        (JobStatus.FAILED, BOUND_REACHED, {})
    ]
    default = Recorded(space)
    assert job.run(default).status is JobStatus.FINISHED
    assert job.bounds == RunBounds(steps=1_000 + 100 * default.decided)


def test_bounds_of_the_run_options_are_kept() -> None:
    bounds = RunBounds(steps=777)
    job = ExploredJob(endless(), RunOptions(bounds=bounds), "endless")
    explore_job(job, 2)
    assert job.bounds == bounds


LOST = """
flowsim: 1
name: lost
settings: {task_managers: one}
sources:
  s0: {script: {fields: {n: long}, subtasks: [[{record: [1]}, {sleep: 10 ms}, {record: [2]}]]}}
sinks:
  out: {input: s0, collect: {}, parallelism: 1, partition: rebalance}
failures: [{lose_task_manager: {name: task manager, at: 5 ms}}]
"""


@pytest.mark.parametrize("space", ["order", "runtime"])
def test_task_manager_of_the_scenario_is_lost(space: Space) -> None:
    """In the order space each task has its own; those that the scenario puts together fail together."""
    compiled = DrawnScenario.of(LOST).compiled()
    job = ExploredJob(compiled.stream_graph(), compiled.run_options(), "lost", space)
    outcome = job.run(Recorded(space))
    assert outcome.status is JobStatus.FAILED
    assert "TaskManager task manager is no longer reachable." in outcome.cause


def test_run_that_fails_early_has_no_rows_of_the_run_before() -> None:
    """The call times out before the task of the sink has its first turn."""
    job = explored(tiny_job(30076), "runtime")
    assert job.run(Recorded("runtime")).rows == {"out": [[("a", 0)]]}
    failed = job.run(Replayed(ChoiceToken(job_id(job.digest), ((1, 2), (3, 3), (5, 1)), "runtime")))
    assert (failed.status, failed.rows) == (JobStatus.FAILED, {"out": [[]]})
