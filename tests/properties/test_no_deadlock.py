"""Every job finishes and loses nothing, for any size of the network, placement of tasks and schedule (6.20).

Random graphs (chains, fan-outs, unions, diamonds, every partitioner) over the least memory that a deployment accepts,
segments smaller than a record, few credits, links with latency, and random schedules.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from flowsim.cluster.job_execution import JobStatus
from flowsim.facts.kinds import Level
from flowsim.graph.execution_graph import ExecutionGraph, create_execution_graph
from flowsim.graph.job_graph import create_job_graph
from flowsim.graph.job_settings import AdaptivePartitionerSettings, BufferDebloatSettings, Link
from flowsim.graph.stream_graph import StreamGraph
from flowsim.laws.law import Verdict
from flowsim.testing import RandomJob, Schedule, random_jobs, run_job, schedules
from flowsim.testing.runs import observe
from tests.support.examples import examples
from tests.support.jobs.small_jobs import SmallJob

pytestmark = pytest.mark.property


def narrow_settings() -> st.SearchStrategy[dict[str, object]]:
    """Down to the least that is accepted; a record takes 5 bytes and more, so with 8 bytes it spans segments."""
    return st.fixed_dictionaries(
        {
            "segment_size_bytes": st.sampled_from([64, 256, 32, 8]),
            "exclusive_buffers_per_channel": st.sampled_from([1, 0, 2]),
            "floating_buffers_per_gate": st.sampled_from([1, 2, 8]),
            "max_buffers_per_channel": st.sampled_from([2, 3, 10]),
            "overdraft_buffers": st.sampled_from([0, 1, 20]),
            "buffer_timeout_ms": st.sampled_from([-1, 0, 100, 1]),
            "operator_chaining": st.booleans(),
            "exchange": st.sampled_from(["pipelined_bounded"] * 3 + ["pipelined", "blocking"]),
            "adaptive_partitioner": st.sampled_from([None, None, AdaptivePartitionerSettings(2), True]),
            "buffer_debloat": st.sampled_from([None, None, BufferDebloatSettings(period_ms=1, minimum_bytes=1)]),
        }
    )


@dataclass(frozen=True)
class Case:
    """A job in its narrow world. ``spare``: segments beyond the least that deployment accepts; None: memory is ample."""

    job: RandomJob
    task_managers: object
    links: tuple[Link, ...]
    spare: int | None
    schedule: Schedule

    def graph(self) -> StreamGraph:
        graph = self.job.build().stream_graph("narrow")
        graph.settings = replace(graph.settings, task_managers=self.task_managers, links=self.links)  # type: ignore[arg-type]
        if self.spare is not None:
            graph.settings.network_buffers = least_memory(deployed(graph)) + self.spare
        return graph


def deployed(graph: StreamGraph) -> ExecutionGraph:
    return create_execution_graph(create_job_graph(observe(graph).graph))


def least_memory(execution: ExecutionGraph) -> int:
    """What the task manager that needs most must guarantee."""
    least: Counter[int] = Counter()
    for pool in execution.memory.pools:
        least[pool.task_manager] += pool.required + pool.exclusive
    return max(least.values(), default=2)


@st.composite
def placements(draw: st.DrawFn, job: RandomJob) -> object:
    """Each alone, all together, or every subtask that stands alone in a chain thrown onto one of three."""
    if not draw(st.booleans()):
        return draw(st.sampled_from(["each", "one"]))
    graph = job.build().stream_graph("placed")
    managers: dict[str, list[str]] = {"a": [], "b": [], "c": []}
    for vertex in create_job_graph(observe(graph).graph).vertices:
        for subtask in range(vertex.parallelism):
            owner = draw(st.sampled_from(["a", "b", "c", "own"]))
            if owner != "own":
                managers[owner].append(f"{vertex.head.name}/{subtask}")
    return managers


@st.composite
def cases(draw: st.DrawFn) -> Case:
    job = draw(random_jobs(settings=narrow_settings(), max_records=8, max_fan_out=20))
    link = st.builds(
        Link,
        latency_ns=st.sampled_from([0, 5_000, 3_000_000]),
        bytes_per_second=st.sampled_from([None, 10_000, 1_000_000]),
    )
    # A link that no edge goes over is refused.
    links = draw(st.lists(link, max_size=1)) if deployed(job.build().stream_graph("edges")).expansions else []
    return Case(job, draw(placements(job)), tuple(links), draw(st.sampled_from([0, 0, 1, 3, None])), draw(schedules()))


@settings(max_examples=examples(100), deadline=None)
@given(cases())
def test_every_job_finishes_and_loses_nothing(case: Case) -> None:
    graph = case.graph()
    level = Level.FULL if case.schedule.seed % 4 == 0 else Level.OFF
    run = run_job(graph, schedule=case.schedule, level=level)
    event(f"exchange {graph.settings.exchange}, links {bool(case.links)}, spare {case.spare}")
    assert run.result.status is JobStatus.FINISHED, run.result.report
    assert {end: Counter(run.values(end)) for end in case.job.ends} == case.job.expected()
    if level is Level.FULL:
        assert [outcome for outcome in run.outcomes if outcome.verdict is Verdict.VIOLATED] == []


@pytest.mark.parametrize("buffer_timeout_ms", [-1, 0, 100])
@pytest.mark.parametrize("segment_size_bytes", [8, 64])
def test_overdraft_takes_no_guaranteed_segments(buffer_timeout_ms: int, segment_size_bytes: int) -> None:
    """With the real pools this job can stand still: what the fan-out borrows is missing behind its own reader."""
    job = SmallJob(
        task_managers="one", segment_size_bytes=segment_size_bytes, buffer_timeout_ms=buffer_timeout_ms,
        overdraft_buffers=20,
    )  # fmt: skip
    fanned = job.flat_map(job.values(lambda _: range(20)), lambda value: [value] * 100, by="FORWARD", chain=False)
    mapped = job.map(fanned, lambda value: value, by="FORWARD", chain=False)
    fanned_again = job.flat_map(mapped, lambda value: [value] * 3, by="FORWARD", chain=False)
    arrivals = job.sink(fanned_again, by="FORWARD", chain=False)
    job.graph.settings.network_buffers = least_memory(create_execution_graph(create_job_graph(job.graph)))
    result = job.run()
    assert result.status is JobStatus.FINISHED, result.report
    assert len(arrivals.values) == 6_000
