"""Checks that the description of a job is consistent, before laws and other readers rely on it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from flowsim.errors import BadInput
from flowsim.laws.job_graph import Channel, Edge, JobGraph, Operator, Pool, Task, job_graph
from flowsim.laws.job_history import CheckpointEvent, RestartEvent, StoredChannelEvent
from flowsim.laws.slices import Facts

_MAX_PARALLELISM: Final = 1 << 15
"""The highest parallelism and number of key groups of Flink (rule 1.22)."""


def checked_job_graph(facts: Facts) -> JobGraph:
    """Reads the description tables.

    Raises BadInput for settings that are not JSON, duplicate ids, references to unknown ids, impossible numbers and
    cycles.
    """
    graph = job_graph(facts)
    for table, found in (
        ("tasks", graph.tasks),
        ("edges", graph.edges),
        ("channels", graph.channels),
        ("task_managers", graph.task_managers),
        ("pools", graph.pools),
    ):
        if len(found) != len(facts.static_rows(table)):
            raise _damaged(table, "an id occurs twice")
    heads = {operator.vertex for operator in graph.operators if operator.input_operator == -1}
    places = {(operator.vertex, operator.operator) for operator in graph.operators}
    if len(places) != len(graph.operators):
        raise _damaged("operators", "an operator of a vertex occurs twice")
    _each("operators", graph.operators, lambda row: _of_operator(row, places))
    _each("tasks", graph.tasks.values(), lambda row: _of_task(row, heads, graph))
    vertices = {task.vertex for task in graph.tasks.values()}
    _each("edges", graph.edges.values(), lambda row: _of_edge(row, vertices, places))
    if not _is_acyclic(vertices, graph.edges.values()):
        raise _damaged("edges", "the edges form a cycle")
    _each("channels", graph.channels.values(), lambda row: _of_channel(row, graph))
    _each("pools", graph.pools.values(), lambda row: _of_pool(row, graph))
    _each("checkpoints", graph.history.checkpoints, lambda row: _of_job(row, graph))
    _each("restarts", graph.history.restarts, lambda row: _of_job(row, graph))
    _each("stored_channels", graph.history.stored_channels, lambda row: _of_job(row, graph))
    return graph


def _each(table: str, rows: Iterable[Any], wrong: Any) -> None:
    for row in rows:
        found = next(wrong(row), None)
        if found is not None:
            raise _damaged(table, f"{found} in the row {tuple(row)[:8]!r:.200}")


def _damaged(table: str, what: str) -> BadInput:
    return BadInput(f"the recording is damaged: table {table}: {what}; record the run again")


def _of_operator(operator: Operator, places: set[tuple[int, int]]) -> Iterator[str]:
    """The input of an operator is before it in the chain, so a chain has no cycle."""
    before = operator.input_operator
    if not -1 <= before < operator.operator or (before < 0) is not (operator.operator == 0):
        yield f"an operator reads operator {before}"
    if before >= 0 and (operator.vertex, before) not in places:
        yield f"there is no operator {before}"


def _of_task(task: Task, heads: set[int], graph: JobGraph) -> Iterator[str]:
    if not 0 <= task.subtask < task.parallelism <= task.max_parallelism <= _MAX_PARALLELISM:
        yield "an impossible parallelism"
    if task.vertex not in heads:
        yield f"vertex {task.vertex} has no operators"
    if not 0 <= task.inputs <= len(graph.edges):
        yield f"a wrong number of inputs, {task.inputs}"
    if task.task_manager not in graph.task_managers:
        yield f"there is no task manager {task.task_manager}"


def _of_edge(edge: Edge, vertices: set[int], places: set[tuple[int, int]]) -> Iterator[str]:
    for vertex in (edge.source_vertex, edge.target_vertex):
        if vertex not in vertices:
            yield f"there is no vertex {vertex}"
    if (edge.source_vertex, edge.source_operator) not in places:
        yield f"vertex {edge.source_vertex} has no operator {edge.source_operator}"
    if edge.input < 0:
        yield f"input {edge.input}"


def _of_channel(channel: Channel, graph: JobGraph) -> Iterator[str]:
    edge, ends = graph.edges.get(channel.edge), (channel.source_task, channel.target_task)
    source, target = (graph.tasks.get(task) for task in ends)
    if edge is None or source is None or target is None:
        yield "an unknown edge or task"
    elif (source.vertex, target.vertex, channel.input) != (edge.source_vertex, edge.target_vertex, edge.input):
        yield "other tasks than those of its edge"
    elif not 0 <= channel.subpartition < target.parallelism:
        yield f"subpartition {channel.subpartition}"
    elif not 0 <= channel.input_channel < len(graph.channels):
        yield f"input channel {channel.input_channel}"
    if channel.bytes_per_second < 0:
        yield "a negative bandwidth"


def _of_pool(pool: Pool, graph: JobGraph) -> Iterator[str]:
    if pool.task not in graph.tasks or pool.edge not in graph.edges or pool.task_manager not in graph.task_managers:
        yield "an unknown task, edge or task manager"
    if min(pool.required, pool.maximum, pool.overdraft, pool.per_channel, pool.exclusive) < 0:
        yield "a negative number of segments"


def _of_job(event: CheckpointEvent | RestartEvent | StoredChannelEvent, graph: JobGraph) -> Iterator[str]:
    if event.task_id != -1 and event.task_id not in graph.tasks:
        yield f"there is no task {event.task_id}"
    if isinstance(event, RestartEvent) and event.attempt >= 1 << 15:
        yield f"attempt {event.attempt}"


def _is_acyclic(vertices: Iterable[int], edges: Iterable[Edge]) -> bool:
    targets: dict[int, list[int]] = {}
    waiting = dict.fromkeys(vertices, 0)
    for edge in edges:
        targets.setdefault(edge.source_vertex, []).append(edge.target_vertex)
        waiting[edge.target_vertex] += 1
    ready: Sequence[int] = [vertex for vertex, count in waiting.items() if not count]
    done = 0
    while ready:
        done += len(ready)
        following = []
        for vertex in ready:
            for target in targets.get(vertex, ()):
                waiting[target] -= 1
                if not waiting[target]:
                    following.append(target)
        ready = following
    return done == len(waiting)
