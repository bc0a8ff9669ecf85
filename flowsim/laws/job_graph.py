"""The execution graph as a recording describes it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar, cast

from flowsim.laws.slices import Facts

_T = TypeVar("_T")


class Task(NamedTuple):
    """A row of table ``tasks``."""

    task: int
    vertex: int
    task_manager: int
    name: str
    subtask: int
    parallelism: int
    max_parallelism: int
    inputs: int


class Operator(NamedTuple):
    """A row of table ``operators``."""

    vertex: int
    operator: int
    name: str
    kind: str
    params: Mapping[str, object]
    input_operator: int
    input_tag: str


class Edge(NamedTuple):
    """A row of table ``edges``."""

    edge: int
    source_vertex: int
    source_operator: int
    target_vertex: int
    input: int
    partitioner: str
    key_type: str
    side_output: str
    exchange: str


class Channel(NamedTuple):
    """A row of table ``channels``."""

    channel: int
    edge: int
    source_task: int
    subpartition: int
    target_task: int
    input: int
    input_channel: int
    local: int


class TaskManager(NamedTuple):
    """A row of table ``task_managers``."""

    task_manager: int
    name: str
    segments: int
    segment_bytes: int


class Pool(NamedTuple):
    """A row of table ``pools``."""

    pool: int
    task_manager: int
    task: int
    edge: int
    kind: int
    required: int
    maximum: int
    overdraft: int
    per_channel: int
    exclusive: int


@dataclass(frozen=True, slots=True)
class JobGraph:
    """Tasks, operators, edges, channels and buffer pools, by their ids."""

    tasks: Mapping[int, Task]
    operators: tuple[Operator, ...]
    edges: Mapping[int, Edge]
    channels: Mapping[int, Channel]
    task_managers: Mapping[int, TaskManager]
    pools: Mapping[int, Pool]
    _once: dict[object, object] = field(default_factory=dict, repr=False, compare=False)

    def __reduce__(self) -> tuple[type[JobGraph], tuple[object, ...]]:
        """Without what was computed of it."""
        parts = (self.tasks, self.operators, self.edges, self.channels, self.task_managers, self.pools)
        return JobGraph, parts

    def once(self, function: Callable[[JobGraph], _T]) -> _T:
        """What the function answers for this graph, computed once for the machines of all tasks."""
        if function not in self._once:
            self._once[function] = function(self)
        return cast(_T, self._once[function])

    def operators_of(self, vertex: int) -> list[Operator]:
        """The operators of a job vertex."""
        return self.once(_operators_by_vertex).get(vertex, [])

    def tasks_of(self, vertex: int) -> list[Task]:
        """The subtasks of a job vertex."""
        return [task for task in self.tasks.values() if task.vertex == vertex]


def _operators_by_vertex(graph: JobGraph) -> dict[int, list[Operator]]:
    found: dict[int, list[Operator]] = {}
    for operator in graph.operators:
        found.setdefault(operator.vertex, []).append(operator)
    return found


def job_graph(facts: Facts) -> JobGraph:
    """Reads the description tables."""
    tasks = [
        Task(
            int(task),
            int(vertex),
            int(manager),
            str(name),
            int(subtask),
            int(parallelism),
            int(max_parallelism),
            int(inputs),
        )
        for task, vertex, manager, name, subtask, parallelism, max_parallelism, inputs in facts.static_rows("tasks")
    ]
    operators = [
        Operator(int(vertex), int(operator), str(name), str(kind), _params(str(params)), int(source), str(tag))
        for vertex, operator, name, kind, params, source, tag in facts.static_rows("operators")
    ]
    edges = [
        Edge(
            int(edge),
            int(source),
            int(operator),
            int(target),
            int(index),
            str(name),
            str(key_type),
            str(side),
            str(exchange),
        )
        for edge, source, operator, target, index, name, key_type, side, exchange in facts.static_rows("edges")
    ]
    channels = [Channel(*(int(value) for value in row)) for row in facts.static_rows("channels")]
    managers = [
        TaskManager(int(manager), str(name), int(segments), int(size))
        for manager, name, segments, size in facts.static_rows("task_managers")
    ]
    pools = [Pool(*(int(value) for value in row)) for row in facts.static_rows("pools")]
    return JobGraph(
        {task.task: task for task in tasks},
        tuple(operators),
        {edge.edge: edge for edge in edges},
        {channel.channel: channel for channel in channels},
        {manager.task_manager: manager for manager in managers},
        {pool.pool: pool for pool in pools},
    )


def _params(text: str) -> Mapping[str, object]:
    found = json.loads(text) if text else {}
    return found if isinstance(found, dict) else {}
