"""Random graphs, partitioners, networks and schedules: the output equals a model of the graph, and every law holds."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings

from flowsim.cluster.job_execution import JobStatus
from flowsim.errors import BadInput
from flowsim.laws.law import Verdict
from flowsim.testing import RandomJob, Schedule, SourceStage, Stage, random_jobs, run_job, schedules
from tests.support.examples import examples

pytestmark = pytest.mark.property


@settings(max_examples=examples(120), deadline=None)
@given(random_jobs(), schedules())
def test_output_equals_model_of_graph_and_laws_hold(job: RandomJob, schedule: Schedule) -> None:
    run = run_job(job, schedule=schedule)
    assert run.result.status is JobStatus.FINISHED, run.result.report
    assert {end: Counter(run.values(end)) for end in job.ends} == job.expected()
    assert [outcome for outcome in run.outcomes if outcome.verdict is Verdict.VIOLATED] == []


def test_model_counts_copies_unions_and_keys() -> None:
    sources = (SourceStage(((1, 2), (6,))), SourceStage(((11,),)))
    stages = (
        Stage((0, 1), "hash", "count", 2),
        Stage((0,), "broadcast", "filter", 3),
        Stage((1,), "global", "flat_map", 2, fan_out=2),
        Stage((0,), "rebalance", "co_map", 2, second=(1,)),
    )
    job = RandomJob(sources, stages)
    assert job.ends == ("s2", "s3", "s4", "s5")
    assert job.expected() == {
        "s2": Counter({11: 1, 21: 1, 31: 1, 12: 1}),
        "s3": Counter({1: 3, 2: 3}),
        "s4": Counter({11: 1, 12: 1}),
        "s5": Counter({8: 1, 15: 1, 43: 1, -12: 1}),
    }
    run = run_job(job.build())
    assert {end: Counter(run.values(end)) for end in job.ends} == job.expected()


@pytest.mark.parametrize(
    ("stage", "message"),
    [
        (Stage((1,), "default", "map", 1), "s1: expected earlier stages as inputs"),
        (Stage((0,), "shuffle", "count", 1), "s1: count needs the partitioning hash"),
        (Stage((0,), "forward", "map", 2), "s1: forward needs equal parallelism"),
        (Stage((0,), "default", "map", 1, second=(0,)), "s1: co_map has a second input and nothing else has"),
    ],
)
def test_invalid_job_is_refused(stage: Stage, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        RandomJob((SourceStage(((1,),)),), (stage,))
