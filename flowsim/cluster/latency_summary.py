"""What the latency markers of a run measured, per source and operator. Flink: LatencyStats (rules 8.20, 8.21)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flowsim.graph.job_graph import JobGraph
from flowsim.operators.latency_stats import Latency
from flowsim.tasks.stream_task import StreamTask


@dataclass(frozen=True, slots=True)
class LatencySummary:
    """From one source operator to one operator, over all their subtasks; ms of processing time."""

    source: str
    operator: str
    markers: int
    min_ms: int
    mean_ms: float
    max_ms: int


def latency_summaries(job: JobGraph, tasks: Sequence[StreamTask]) -> tuple[LatencySummary, ...]:
    """By source, then by operator, in the order of the graph; empty when no marker arrived anywhere."""
    found: dict[tuple[int, str], list[Latency]] = {}
    for task in tasks:
        for wrapper in sorted(task.chain.wrappers, key=lambda each: each.index):
            for source, latency in sorted(wrapper.operator.latency_stats.by_source.items()):
                found.setdefault((source, wrapper.name), []).append(latency)
    names = {vertex.id: vertex.head.name for vertex in job.vertices}
    return tuple(
        LatencySummary(
            names[source],
            operator,
            sum(one.count for one in parts),
            min(one.min_ms for one in parts),
            round(sum(one.total_ms for one in parts) / sum(one.count for one in parts), 3),
            max(one.max_ms for one in parts),
        )
        for (source, operator), parts in sorted(found.items(), key=lambda item: item[0][0])
    )
