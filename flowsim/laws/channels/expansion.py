"""The channels that an edge has in one task (rules 1.14 to 1.17)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from flowsim.laws.findings import Findings
from flowsim.laws.job_graph import Channel, Edge, JobGraph, Task


def targets_of(task: Task, edge: Edge, targets: int) -> list[int]:
    """The subtasks that read subpartitions 0, 1, ... of a task; ``targets``: how many there are."""
    if edge.partitioner_name == "FORWARD":
        return [task.subtask]  # Rules 1.1 and 1.2: both ends have the same parallelism.
    if edge.partitioner_name != "RESCALE":
        return list(range(targets))
    sources = task.parallelism
    if sources >= targets:
        return [((task.subtask + 1) * targets - 1) // sources]
    group = range(-(-task.subtask * targets // sources), -(-(task.subtask + 1) * targets // sources))
    return sorted(group, key=lambda target: target % len(group))


def parallelism_of_target(graph: JobGraph, edge: Edge) -> int:
    """The number of subtasks that an edge leads to."""
    return graph.once(_parallelisms)[edge.target_vertex]


def output_edges(graph: JobGraph, task: Task) -> list[Edge]:
    """The edges that leave the chain of a task."""
    return [edge for _, edge in sorted(graph.edges.items()) if edge.source_vertex == task.vertex]


def check_channels(graph: JobGraph, task: Task, edge: Edge, found: Findings) -> None:
    """Counts each channel that the partitioner does not have, and each subpartition without a channel."""
    own = [channel for channel in graph.sent_by(task.task) if channel.edge == edge.edge]
    expected = dict(enumerate(targets_of(task, edge, parallelism_of_target(graph, edge))))
    for what, subpartition, channel in _differences(graph, expected, own):
        found.broken(what, (task.task, -1, edge.edge, subpartition, channel), task=task.task, edge=edge.edge,
                     partitioner=edge.partitioner, subpartition=subpartition,
                     channel=None if channel < 0 else channel, expected=expected.get(subpartition))  # fmt: skip


def _differences(
    graph: JobGraph, expected: Mapping[int, int], channels: list[Channel]
) -> Iterator[tuple[str, int, int]]:
    missing = dict(expected)
    for channel in sorted(channels):
        if missing.get(channel.subpartition) == graph.tasks[channel.target_task].subtask:
            del missing[channel.subpartition]
        else:
            yield "the partitioner of the edge has no such channel", channel.subpartition, channel.channel
    for subpartition in missing:
        yield "the edge has no channel to a subtask that its partitioner reaches", subpartition, -1


def _parallelisms(graph: JobGraph) -> dict[int, int]:
    return {task.vertex: task.parallelism for task in graph.tasks.values()}
