"""The execution graph as a recording describes it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeVar, cast

from flowsim.errors import BadInput
from flowsim.laws.job_history import CheckpointEvent, JobHistory, RestartEvent, StoredChannelEvent
from flowsim.laws.slices import Facts

_T = TypeVar("_T")

_DEEPEST: Final = 32
"""Levels of the params of an operator: triggers are the deepest, one inside another."""


_ADAPTIVE: Final = re.compile(r"(REBALANCE|RESCALE) adaptive\((\d{1,10})\)")


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

    @property
    def partitioner_name(self) -> str:
        """The partitioner, without the word about adaptive writers."""
        return without_adaptive(self.partitioner)

    @property
    def max_traverse_size(self) -> int | None:
        """The number of channels that an adaptive writer compares; None: the writers are not adaptive."""
        found = _ADAPTIVE.fullmatch(self.partitioner)
        return None if found is None else int(found[2])


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
    bytes_per_second: int = 0


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


class StateOfOperator(NamedTuple):
    """A row of table ``states``."""

    task: int
    operator: int
    state: int
    name: str
    kind: str


def without_adaptive(partitioner: str) -> str:
    """The name of a recorded partitioner, without the word about adaptive writers."""
    found = _ADAPTIVE.fullmatch(partitioner)
    return partitioner if found is None else found[1]


@dataclass(frozen=True, slots=True)
class JobGraph:
    """Tasks, operators, edges, channels and buffer pools, by their ids, and what the job's side recorded."""

    tasks: Mapping[int, Task]
    operators: tuple[Operator, ...]
    edges: Mapping[int, Edge]
    channels: Mapping[int, Channel]
    task_managers: Mapping[int, TaskManager]
    pools: Mapping[int, Pool]
    history: JobHistory = field(default_factory=JobHistory)
    states: tuple[StateOfOperator, ...] = ()
    _once: dict[object, object] = field(default_factory=dict, repr=False, compare=False)

    def __reduce__(self) -> tuple[type[JobGraph], tuple[object, ...]]:
        """A copy without cached results."""
        parts = (
            self.tasks, self.operators, self.edges, self.channels, self.task_managers, self.pools, self.history,
            self.states,
        )  # fmt: skip
        return JobGraph, parts

    def once(self, function: Callable[[JobGraph], _T]) -> _T:
        """The result of the function for this graph, computed once for the machines of all tasks."""
        if function not in self._once:
            self._once[function] = function(self)
        return cast(_T, self._once[function])

    def operators_of(self, vertex: int) -> list[Operator]:
        """The operators of a job vertex."""
        return self.once(_operators_by_vertex).get(vertex, [])

    def sent_by(self, task: int) -> list[Channel]:
        """The channels on which a task sends."""
        return self.once(_channels_by_sender).get(task, [])

    def received_by(self, task: int) -> list[Channel]:
        """The channels that a task receives."""
        return self.once(_channels_by_receiver).get(task, [])

    def last_attempt(self, task: int) -> int:
        """The last attempt of a task."""
        return self.history.last_attempts.get(task, 0)

    def part(self, tasks: Collection[int]) -> JobGraph:
        """The graph of some tasks and the channels between them."""
        return JobGraph(
            {task: found for task, found in self.tasks.items() if task in tasks},
            self.operators,
            self.edges,
            {
                channel: found
                for channel, found in self.channels.items()
                if found.source_task in tasks and found.target_task in tasks
            },
            self.task_managers,
            {pool: found for pool, found in self.pools.items() if found.task in tasks},
            self.history,
            tuple(state for state in self.states if state.task in tasks),
        )

    def tasks_of(self, vertex: int) -> list[Task]:
        """The subtasks of a job vertex."""
        return [task for task in self.tasks.values() if task.vertex == vertex]


def _channels_by_sender(graph: JobGraph) -> dict[int, list[Channel]]:
    return _grouped(graph, lambda channel: channel.source_task)


def _channels_by_receiver(graph: JobGraph) -> dict[int, list[Channel]]:
    return _grouped(graph, lambda channel: channel.target_task)


def _grouped(graph: JobGraph, task: Callable[[Channel], int]) -> dict[int, list[Channel]]:
    found: dict[int, list[Channel]] = {}
    for channel in graph.channels.values():
        found.setdefault(task(channel), []).append(channel)
    return found


def connected_tasks(graph: JobGraph) -> list[frozenset[int]]:
    """The groups of tasks that exchange data, directly or through others."""
    return graph.once(_connected_tasks)


def _connected_tasks(graph: JobGraph) -> list[frozenset[int]]:
    groups = {task: {task} for task in graph.tasks}
    for channel in graph.channels.values():
        one, other = groups[channel.source_task], groups[channel.target_task]
        if one is not other:
            one |= other
            groups.update(dict.fromkeys(other, one))
    return sorted({frozenset(group) for group in groups.values()}, key=min)


def _operators_by_vertex(graph: JobGraph) -> dict[int, list[Operator]]:
    found: dict[int, list[Operator]] = {}
    for operator in graph.operators:
        found.setdefault(operator.vertex, []).append(operator)
    return found


def job_graph(facts: Facts) -> JobGraph:
    """Reads the description tables; raises BadInput for settings of operators that are not JSON."""
    operators = _rows(facts, "operators", Operator)
    return JobGraph(
        {task.task: task for task in _rows(facts, "tasks", Task)},
        tuple(operator._replace(params=_params(operator)) for operator in operators),
        {edge.edge: edge for edge in _rows(facts, "edges", Edge)},
        {channel.channel: channel for channel in _rows(facts, "channels", Channel)},
        {manager.task_manager: manager for manager in _rows(facts, "task_managers", TaskManager)},
        {pool.pool: pool for pool in _rows(facts, "pools", Pool)},
        JobHistory(
            tuple(CheckpointEvent(*row) for row in facts.rows("checkpoints")),
            tuple(RestartEvent(*row) for row in facts.rows("restarts")),
            tuple(StoredChannelEvent(*row) for row in facts.rows("stored_channels")),
        ),
        tuple(_rows(facts, "states", StateOfOperator)),
    )


def _rows(facts: Facts, table: str, row: Callable[..., _T]) -> list[_T]:
    """The rows of a description table, whose columns are the fields of ``row``."""
    return [
        row(*(int(value) if isinstance(value, int) else value for value in values))
        for values in facts.static_rows(table)
    ]


def _params(operator: Operator) -> Mapping[str, object]:
    text = cast(str, operator.params)
    try:
        found = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        raise BadInput(
            f"the recording is damaged: the params of operator {operator.operator} of vertex {operator.vertex} are not JSON"
        ) from None
    if _is_deeper(found, _DEEPEST):
        raise BadInput(f"the recording is damaged: the params of operator {operator.operator} are nested too deeply")
    return found if isinstance(found, dict) else {}


def _is_deeper(value: object, levels: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return bool(inner) and (not levels or any(_is_deeper(item, levels - 1) for item in inner))
