"""Small random jobs on small random memory: everything arrives, in order per channel, and all laws hold."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowsim.cluster.job_execution import JobExecutionResult, JobStatus
from flowsim.facts.kinds import Level
from flowsim.graph.stream_graph import PartitionerSpec
from flowsim.laws.judge import check_all
from flowsim.laws.law import Verdict
from flowsim.recording.memory import MemoryRecorder
from flowsim.units import MAX_WATERMARK
from tests.support.jobs.small_jobs import Arrivals, SmallJob, by_key

pytestmark = pytest.mark.property
ACROSS = ("REBALANCE", "RESCALE", "SHUFFLE", "BROADCAST", "GLOBAL", "HASH")


@dataclass(frozen=True)
class Stage:
    """The edge into an operator, and its parallelism and cost; a fan-out of 1 is a map."""

    partitioner: str
    parallelism: int
    cost_ns: int
    fan_out: int
    chained: bool


@dataclass(frozen=True)
class Pipeline:
    sources: int
    sizes: tuple[int, ...]
    """Letters in each record of a source subtask."""
    stages: tuple[Stage, ...]
    settings: tuple[tuple[str, int], ...]
    local: bool
    policy: Literal["fifo", "random"]
    seed: int


@st.composite
def stages(draw: st.DrawFn, before: int) -> Stage:
    parallelism = draw(st.integers(1, 3))
    name = draw(st.sampled_from((*ACROSS, "FORWARD") if parallelism == before else ACROSS))
    return Stage(
        name,
        parallelism,
        draw(st.sampled_from((0, 1_000, 50_000))),
        draw(st.sampled_from((1, 1, 2, 9))),
        draw(st.booleans()),
    )


@st.composite
def pipelines(draw: st.DrawFn) -> Pipeline:
    sources = width = draw(st.integers(1, 3))
    made = []
    for _ in range(draw(st.integers(1, 3))):
        stage = draw(stages(width))
        width = stage.parallelism
        made.append(stage)
    settings = {
        "segment_size_bytes": st.sampled_from((16, 17, 40, 200, 32768)),
        "exclusive_buffers_per_channel": st.integers(0, 2),
        "floating_buffers_per_gate": st.integers(0, 4),
        "max_buffers_per_channel": st.sampled_from((2, 3, 10)),
        "overdraft_buffers": st.sampled_from((0, 1, 20)),
        "buffer_timeout_ms": st.sampled_from((-1, 0, 1, 100)),
        "budget_records": st.sampled_from((1, 2, 7, 4096)),
    }
    return Pipeline(
        sources,
        tuple(draw(st.lists(st.integers(0, 60), max_size=25))),
        tuple(made),
        tuple((name, draw(strategy)) for name, strategy in settings.items()),
        draw(st.booleans()),
        draw(st.sampled_from(("fifo", "random"))),
        draw(st.integers(0, 9)),
    )


def built(pipeline: Pipeline) -> tuple[SmallJob, Arrivals]:
    job = SmallJob(task_managers="one" if pipeline.local else "each", **dict(pipeline.settings))
    before = job.values(
        lambda subtask: [(subtask, number, "x" * size) for number, size in enumerate(pipeline.sizes)], pipeline.sources
    )
    for stage in pipeline.stages:
        by: str | PartitionerSpec = stage.partitioner
        if by == "HASH":
            by = by_key(lambda value: value[1] % 5, "INT")  # type: ignore[index]
        before = job.flat_map(
            before, lambda value, times=stage.fan_out: [value] * times, by=by, parallelism=stage.parallelism,  # type: ignore[misc]
            cost_ns=stage.cost_ns, chain=stage.chained,
        )  # fmt: skip
    arrivals = job.sink(before, by="FORWARD", parallelism=pipeline.stages[-1].parallelism, chain=False)
    return job, arrivals


def run(pipeline: Pipeline, recorder: MemoryRecorder | None) -> tuple[JobExecutionResult, Arrivals]:
    job, arrivals = built(pipeline)
    return job.run(policy=pipeline.policy, seed=pipeline.seed, recorder=recorder), arrivals


@given(pipelines())
def test_every_record_arrives_and_laws_hold(pipeline: Pipeline) -> None:
    recorder = MemoryRecorder(Level.FULL)
    result, arrivals = run(pipeline, recorder)
    assert result.status is JobStatus.FINISHED, result.report
    copies = 1
    for stage in pipeline.stages:
        copies *= stage.fan_out * (stage.parallelism if stage.partitioner == "BROADCAST" else 1)
    expected = {
        (subtask, number, "x" * size): copies
        for subtask in range(pipeline.sources)
        for number, size in enumerate(pipeline.sizes)
    }
    assert Counter(arrivals.values) == expected
    assert sorted(arrivals.watermarks) == [(s, MAX_WATERMARK) for s in range(pipeline.stages[-1].parallelism)]
    broken = [o for o in check_all(recorder) if o.verdict is Verdict.VIOLATED]
    assert broken == []


@given(pipelines())
def test_recording_does_not_change_the_run(pipeline: Pipeline) -> None:
    recorded_result, recorded = run(pipeline, MemoryRecorder(Level.FULL))
    result, arrivals = run(pipeline, None)
    assert arrivals == recorded
    assert result == recorded_result


@given(pipelines())
def test_records_between_two_subtasks_keep_their_order(pipeline: Pipeline) -> None:
    """Over one edge of any kind; after two the order of one source is kept only along one path (law channel-fifo)."""
    single = Pipeline(
        pipeline.sources, pipeline.sizes, pipeline.stages[:1], pipeline.settings, pipeline.local, pipeline.policy,
        pipeline.seed,
    )  # fmt: skip
    _, arrivals = run(single, None)
    for receiver in range(single.stages[0].parallelism):
        for sender in range(single.sources):
            numbers = [number for source, number, _ in arrivals.of(receiver) if source == sender]  # type: ignore[misc]
            assert numbers == sorted(numbers)
