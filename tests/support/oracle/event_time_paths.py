"""The origin and the causes of event time at a place in a chain: "Origins" and "Causes" of docs/laws.md.

Slow and plain: everything is looked up in whole chains and whole histories.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from flowsim.facts.kinds import ElementKind
from flowsim.laws.job_graph import JobGraph, Operator
from flowsim.units import NO_TIMESTAMP
from tests.support.oracle.facts import Facts
from tests.support.oracle.valve_model import ACTIVE, IDLE

INPUTS: Final = -1
"""The inputs of the task are the origin. An origin >= 0 is an operator that generates or queues watermarks."""
FREE: Final = -2
"""No facts say what the event time must be."""

Emission = tuple[int, int]
"""Kind (WATERMARK or STATUS) and timestamp or status."""
Cause = tuple[int, list[Emission]]
"""Sequence number of a cause, and what it makes."""


def generates(operator: Operator) -> bool:
    return isinstance(operator.params.get("watermarks"), Mapping)


def queues(operator: Operator) -> bool:
    return operator.kind == "async_wait" and not generates(operator)


class EventTimePaths:
    """The origins of one job."""

    def __init__(self, graph: JobGraph) -> None:
        self._graph = graph

    def operator(self, vertex: int, operator: int) -> Operator | None:
        """The last that is described under this number."""
        found = [o for o in self._graph.operators if (o.vertex, o.operator) == (vertex, operator)]
        return found[-1] if found else None

    def feeder(self, operator: Operator) -> Operator | None:
        """What feeds the operator in its chain, if that comes before it there."""
        if operator.input_operator >= operator.operator:
            return None
        return self.operator(operator.vertex, operator.input_operator)

    def upstream(self, operator: Operator | None) -> list[Operator]:
        """The operator, what feeds it, what feeds that, and so on."""
        return [] if operator is None else [operator, *self.upstream(self.feeder(operator))]

    def origin_of_output(self, vertex: int, operator: int) -> int:
        return self._first_origin(vertex, self.upstream(self.operator(vertex, operator)))

    def origin_of_input(self, vertex: int, operator: int) -> int:
        return self._first_origin(vertex, self.upstream(self.operator(vertex, operator))[1:])

    def origin_of_statuses(self, vertex: int, origin: int) -> int:
        """An operator that queues passes statuses on: the first origin before it that does not queue."""
        upstream = self.upstream(self.operator(vertex, origin)) if origin >= 0 else []
        if not any(map(queues, upstream[:1])):
            return origin
        return self._first_origin(vertex, [operator for operator in upstream if not queues(operator)])

    def _first_origin(self, vertex: int, upstream: Iterable[Operator]) -> int:
        for operator in upstream:
            if generates(operator) or queues(operator):
                return operator.operator
            if operator.kind in {"source", "watermarks"}:
                return FREE
        return INPUTS if any(t.inputs for t in self._graph.tasks.values() if t.vertex == vertex) else FREE

    def keeps_back(self, vertex: int, operator: int) -> bool:
        found = self.operator(vertex, operator)
        return found is not None and queues(found)

    def is_assigned(self, vertex: int, operator: int) -> bool:
        """Whether an operator that assigns timestamps lies before the output."""
        return any(found.kind == "watermarks" for found in self.upstream(self.operator(vertex, operator)))

    def makes_the_first(self, vertex: int, origin: int) -> bool:
        """Whether the origin is the head of a task without inputs."""
        found = self.operator(vertex, origin)
        has_inputs = any(task.inputs for task in self._graph.tasks.values() if task.vertex == vertex)
        return found is not None and found.input_operator < 0 and not has_inputs

    def holds_back(self, vertex: int) -> bool:
        """Whether the head has interruptible timers."""
        head = self.operator(vertex, 0)
        return head is not None and head.params.get("interruptible_timers") is True

    def channels_by_origin(self) -> dict[int, dict[int, list[int]]]:
        """Per task and origin the channels that carry it."""
        of_edge = {
            edge.edge: self.origin_of_output(edge.source_vertex, edge.source_operator)
            for edge in self._graph.edges.values()
        }
        found: dict[int, dict[int, list[int]]] = {}
        for number, channel in sorted(self._graph.channels.items()):
            found.setdefault(channel.source_task, {}).setdefault(of_edge[channel.edge], []).append(number)
        return found


def combined(rows: Sequence[tuple[int, ...]], inputs: int) -> list[Cause]:
    """What the rows (seq, input, kind, value) of ``task_watermark`` of one task make together (rule 8.16)."""
    if inputs == 1:
        return [(seq, [(kind, value)]) for seq, _, kind, value in rows]
    histories: list[list[Emission]] = [[] for _ in range(inputs)]
    causes: list[Cause] = []
    highest, were_idle = NO_TIMESTAMP, False
    for seq, index, kind, value in rows:
        if index not in range(inputs):
            continue
        histories[index].append((kind, value))
        idle = [history[-1:] == [(ElementKind.STATUS, IDLE)] for history in histories]
        marks = [max([NO_TIMESTAMP, *(v for k, v in history if k == ElementKind.WATERMARK)]) for history in histories]
        together = (
            max(marks) if all(idle) else min(mark for mark, is_idle in zip(marks, idle, strict=True) if not is_idle)
        )
        made: list[Emission] = [(ElementKind.WATERMARK, together)] if together > highest else []
        if kind == ElementKind.STATUS and all(idle) != were_idle:
            made.append((kind, value))
        highest, were_idle = max(highest, together), all(idle)
        causes.append((seq, made))
    return causes


def passing(emissions: Sequence[Emission]) -> list[bool]:
    """Which of the watermarks and statuses of one output pass (rule 5.8)."""
    passes, status = [], ACTIVE
    for kind, value in emissions:
        if kind == ElementKind.STATUS:
            passes.append(value != status)
            status = value
        else:
            passes.append(status != IDLE)
    return passes


def emissions(facts: Facts, graph: JobGraph) -> dict[tuple[int, int], list[Cause]]:
    """Per task and origin that does not queue, what passes its output, cause by cause; causes of nothing are left out."""
    arrived: dict[int, list[tuple[int, ...]]] = {}
    for seq, task, _, index, kind, value in sorted(facts.rows("task_watermark")):
        arrived.setdefault(task, []).append((seq, index, kind, value))
    causes = {
        (task, INPUTS): combined(rows, graph.tasks[task].inputs if task in graph.tasks else 1)
        for task, rows in arrived.items()
    }
    for seq, task, operator, _, split, kind, value, _, _ in sorted(facts.rows("generated_watermark")):
        if split == -1 and kind in (ElementKind.WATERMARK, ElementKind.STATUS):
            causes.setdefault((task, operator), []).append((seq, [(kind, value)]))
    return {place: _passed(of_place) for place, of_place in causes.items()}


def _passed(causes: list[Cause]) -> list[Cause]:
    passes = iter(passing([emission for _, made in causes for emission in made]))
    passed = [(seq, [emission for emission in made if next(passes)]) for seq, made in causes]
    return [cause for cause in passed if cause[1]]
