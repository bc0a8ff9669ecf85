"""The operators of job vertices; use with ``JobGraph.once``."""

from __future__ import annotations

from flowsim.laws.job_graph import Channel, JobGraph, Operator


def chains(graph: JobGraph) -> dict[int, list[Operator]]:
    """The operators of each job vertex, in the order of table ``operators``."""
    found: dict[int, list[Operator]] = {task.vertex: [] for task in graph.tasks.values()}
    for operator in graph.operators:
        found.setdefault(operator.vertex, []).append(operator)
    return found


def outputs(graph: JobGraph) -> dict[int, list[Channel]]:
    """The output channels of each task."""
    found: dict[int, list[Channel]] = {task: [] for task in graph.tasks}
    for channel in graph.channels.values():
        found.setdefault(channel.source_task, []).append(channel)
    return found
