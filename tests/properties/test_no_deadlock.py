"""Every job finishes and loses nothing, for any size of the network, placement of tasks and schedule (6.20).

Random graphs (chains, fan-outs, unions, diamonds, every partitioner) over the least memory that a deployment accepts,
segments smaller than a record, few credits, links with latency, and random schedules.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from flowsim.cluster.job_execution import JobStatus
from flowsim.explore.observed_graph import observe
from flowsim.facts.kinds import Level
from flowsim.graph.execution_graph import ExecutionGraph, create_execution_graph
from flowsim.graph.job_graph import create_job_graph
from flowsim.graph.job_settings import Link
from flowsim.graph.stream_graph import StreamGraph
from flowsim.laws.law import Verdict
from flowsim.testing import DrawnScenario, Schedule, run_job, scenarios, schedules
from tests.support.examples import examples
from tests.support.jobs.small_jobs import SmallJob

pytestmark = pytest.mark.property


@st.composite
def narrow_jobs(draw: st.DrawFn) -> DrawnScenario:
    """Down to the least that is accepted; a record takes 5 bytes and more, so with 8 bytes it spans segments."""
    job = draw(scenarios(["plain"]))
    drawn: dict[str, Any] = job.data.get("settings", {})  # type: ignore[assignment]
    kept = {name: drawn[name] for name in ("auto_watermark_interval", "restart_strategy") if name in drawn}
    narrow = {
        "segment_size": st.sampled_from([64, 256, 32, 8]),
        "exclusive_buffers_per_channel": st.sampled_from([1, 0, 2]),
        "floating_buffers_per_gate": st.sampled_from([1, 2, 8]),
        "max_buffers_per_channel": st.sampled_from([2, 3, 10]),
        "overdraft_buffers": st.sampled_from([0, 1, 20]),
        "buffer_timeout": st.sampled_from(["never", 0, "100 ms", "1 ms"]),
        "operator_chaining": st.booleans(),
        "exchange": st.sampled_from(["pipelined_bounded"] * 3 + ["pipelined", "blocking"]),
    }
    options = {
        "adaptive_partitioner": st.sampled_from([{"max_traverse_size": 2}, {}]),
        "buffer_debloat": st.just({"period": "1 ms", "minimum_size": 1}),
    }
    settings = kept | draw(st.fixed_dictionaries(narrow, optional=options))
    operators = {name: wide(block) for name, block in job.data["operators"].items()}  # type: ignore[attr-defined]
    parts = {"sources": job.data["sources"], "operators": operators, "sinks": job.data["sinks"]}
    return DrawnScenario({"flowsim": 1, "name": "narrow", "settings": settings, **parts})


def wide(block: dict[str, Any]) -> dict[str, Any]:
    """An operator with 20 results for each record where it had two."""
    each = block.get("flat_map", {}).get("each")
    if each != "(n, n + 1)":
        return block
    return block | {"flat_map": block["flat_map"] | {"each": f"({', '.join(f'n + {step}' for step in range(20))})"}}


@dataclass(frozen=True)
class Case:
    """A job in its narrow world. ``spare``: segments beyond the least that deployment accepts; None: memory is ample."""

    job: DrawnScenario
    task_managers: object
    links: tuple[Link, ...]
    spare: int | None
    schedule: Schedule

    def graph(self) -> StreamGraph:
        graph = self.job.build()
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
def placements(draw: st.DrawFn, job: DrawnScenario) -> object:
    """Each alone, all together, or every subtask that stands alone in a chain thrown onto one of three."""
    if not draw(st.booleans()):
        return draw(st.sampled_from(["each", "one"]))
    managers: dict[str, list[str]] = {"a": [], "b": [], "c": []}
    for vertex in create_job_graph(observe(job.build()).graph).vertices:
        for subtask in range(vertex.parallelism):
            owner = draw(st.sampled_from(["a", "b", "c", "own"]))
            if owner != "own":
                managers[owner].append(f"{vertex.head.name}/{subtask}")
    return managers


@st.composite
def cases(draw: st.DrawFn) -> Case:
    job = draw(narrow_jobs())
    link = st.builds(
        Link,
        latency_ns=st.sampled_from([0, 5_000, 3_000_000]),
        bytes_per_second=st.sampled_from([None, 10_000, 1_000_000]),
    )
    # A link that no edge goes over is refused.
    links = draw(st.lists(link, max_size=1)) if deployed(job.build()).expansions else []
    return Case(job, draw(placements(job)), tuple(links), draw(st.sampled_from([0, 0, 1, 3, None])), draw(schedules()))


@settings(max_examples=examples(100), deadline=None)
@given(cases())
def test_every_job_finishes_and_loses_nothing(case: Case) -> None:
    graph = case.graph()
    level = Level.FULL if case.schedule.seed % 4 == 0 else Level.OFF
    run = run_job(graph, schedule=case.schedule, level=level)
    event(f"exchange {graph.settings.exchange}, links {bool(case.links)}, spare {case.spare}")
    assert run.result.status is JobStatus.FINISHED, run.result.report
    assert {sink: Counter(run.values(sink)) for sink in case.job.expected} == case.job.expected
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
