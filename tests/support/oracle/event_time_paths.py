"""Where the event time of a place in a chain comes from, and what several inputs make of it (rules 5.8, 8.7, 8.16)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from flowsim.facts.kinds import ElementKind
from flowsim.laws.job_graph import JobGraph, Operator
from flowsim.units import NO_TIMESTAMP
from tests.support.oracle.facts import Facts
from tests.support.oracle.valve_model import ACTIVE, IDLE

INPUTS: Final = -1
"""The origin of event time: what the inputs of the task make together. An origin >= 0 is an operator that makes watermarks,
or keeps them in a queue (rule 11.2)."""
FREE: Final = -2
"""The origin of event time: a source that speaks for itself, of which nothing can be foretold."""

ASYNC: Final = "async_wait"
"""Kind of the operators that keep watermarks back."""

Emission = tuple[int, int]
"""Kind (WATERMARK or STATUS) and timestamp or status."""


class EventTimePaths:
    """Of one job: the origin of what leaves an operator and of what reaches it."""

    __slots__ = ("_graph", "_operators", "_with_inputs")

    def __init__(self, graph: JobGraph) -> None:
        self._graph = graph
        self._operators = {(o.vertex, o.operator): o for o in graph.operators}
        self._with_inputs = {task.vertex for task in graph.tasks.values() if task.inputs}

    def operator(self, vertex: int, operator: int) -> Operator | None:
        return self._operators.get((vertex, operator))

    def feeder(self, operator: Operator) -> Operator | None:
        """What feeds the operator in its chain. It has a smaller index: a damaged recording must not send a judge in circles."""
        feeder = operator.input_operator
        return self._operators.get((operator.vertex, feeder)) if feeder < operator.operator else None

    def origin_of_output(self, vertex: int, operator: int) -> int:
        """The last that makes watermarks among the operator and those that feed it."""
        return self._origin(vertex, self._operators.get((vertex, operator)))

    def origin_of_input(self, vertex: int, operator: int) -> int:
        """The same for what reaches the operator."""
        found = self._operators.get((vertex, operator))
        if found is None or found.input_operator < 0:
            return self._of_head(vertex)
        return self._origin(vertex, self._operators.get((vertex, found.input_operator)))

    def keeps_back(self, vertex: int, operator: int) -> bool:
        """Whether watermarks wait in a queue of the operator (rule 11.2)."""
        found = self._operators.get((vertex, operator))
        return found is not None and _queues(found)

    def origin_of_statuses(self, vertex: int, origin: int) -> int:
        """Statuses are not queued (rule 11.3): theirs lies before every operator that keeps watermarks back."""
        while self.keeps_back(vertex, origin):
            origin = self.origin_of_input(vertex, origin)
        return origin

    def _origin(self, vertex: int, operator: Operator | None) -> int:
        while operator is not None:
            if isinstance(operator.params.get("watermarks"), Mapping) or _queues(operator):
                return operator.operator
            if operator.kind in ("source", "watermarks"):
                return FREE
            operator = self.feeder(operator)
        return self._of_head(vertex)

    def _of_head(self, vertex: int) -> int:
        return INPUTS if vertex in self._with_inputs else FREE

    def is_assigned(self, vertex: int, operator: int) -> bool:
        """Whether what leaves the operator went through one that assigns timestamps: then the end is its to tell (rule 8.7)."""
        found = self._operators.get((vertex, operator))
        while found is not None and found.kind != "watermarks":
            found = self.feeder(found)
        return found is not None

    def makes_the_first(self, vertex: int, origin: int) -> bool:
        """Whether the origin is a source: the last watermark of all is its task's (rule 4.10)."""
        return origin >= 0 and self._operators[vertex, origin].input_operator < 0 and vertex not in self._with_inputs

    def holds_back(self, vertex: int) -> bool:
        """Whether the head of the vertex spreads the timers of one watermark over several actions (rule 9.18)."""
        head = self._operators.get((vertex, 0))
        return head is not None and head.params.get("interruptible_timers") is True

    def channels_by_origin(self) -> dict[int, dict[int, list[int]]]:
        """Per task and origin the channels that carry it."""
        found: dict[int, dict[int, list[int]]] = {}
        for channel in sorted(self._graph.channels.values()):
            edge = self._graph.edges[channel.edge]
            origin = self.origin_of_output(edge.source_vertex, edge.source_operator)
            found.setdefault(channel.source_task, {}).setdefault(origin, []).append(channel.channel)
        return found


def _queues(operator: Operator) -> bool:
    return operator.kind == ASYNC and not isinstance(operator.params.get("watermarks"), Mapping)


class InputsModel:
    """Rule 8.16 for the inputs of one task; a single input is passed on as it is."""

    __slots__ = ("_all_idle", "_idle", "_marks", "_reached")

    def __init__(self, inputs: int) -> None:
        self._marks = [NO_TIMESTAMP] * inputs
        self._idle = [False] * inputs
        self._all_idle = False
        self._reached = NO_TIMESTAMP

    def take(self, index: int, kind: int, value: int) -> list[Emission]:
        """What the operator is told when one input emits a watermark or status."""
        if len(self._marks) == 1:
            return [(kind, value)]
        if not 0 <= index < len(self._marks):
            return []
        was_idle = self._all_idle
        if kind == ElementKind.WATERMARK:
            self._marks[index] = max(self._marks[index], value)
        self._idle[index] = kind == ElementKind.STATUS and value == IDLE
        active = [mark for mark, idle in zip(self._marks, self._idle, strict=True) if not idle]
        self._all_idle = not active
        lowest = min(active) if active else max(self._marks)
        told: list[Emission] = []
        if lowest > self._reached:
            self._reached = lowest
            told.append((ElementKind.WATERMARK, lowest))
        if kind == ElementKind.STATUS and self._all_idle is not was_idle:
            told.append((kind, value))
        return told


class Announced:
    """What an output lets pass: no watermark while it is idle, and only changes of status (rule 5.8)."""

    __slots__ = ("status",)

    def __init__(self) -> None:
        self.status = ACTIVE

    def passing(self, told: Sequence[Emission]) -> list[Emission]:
        passed = []
        for kind, value in told:
            if kind == ElementKind.STATUS:
                if value == self.status:
                    continue
                self.status = value
            elif self.status == IDLE:
                continue
            passed.append((kind, value))
        return passed


Told = tuple[int, list[Emission]]
"""Sequence number of a cause, and what it makes an operator tell its outputs."""


def emissions(facts: Facts, graph: JobGraph) -> dict[tuple[int, int], list[Told]]:
    """Per task and origin (not FREE, none that keeps watermarks back) what must be sent, cause by cause.

    A cause that makes nothing is left out.
    """
    return {place: _passed(causes) for place, causes in heard(facts, graph).items()}


def heard(facts: Facts, graph: JobGraph) -> dict[tuple[int, int], list[Told]]:
    """The same as the first operator behind the origin hears it when no output lies between."""
    arrived: dict[int, list[tuple[int, ...]]] = {}
    for seq, task, _, index, kind, value in facts.rows("task_watermark"):
        arrived.setdefault(task, []).append((seq, index, kind, value))
    generated: dict[tuple[int, int], list[tuple[int, ...]]] = {}
    for seq, task, operator, _, split, kind, value, _, _ in facts.rows("generated_watermark"):
        if split == -1:
            generated.setdefault((task, operator), []).append((seq, kind, value))
    found: dict[tuple[int, int], list[Told]] = {}
    for task, rows in arrived.items():
        model = InputsModel(graph.tasks[task].inputs if task in graph.tasks else 1)
        found[task, INPUTS] = _not_empty((seq, model.take(*row)) for seq, *row in sorted(rows))
    for (task, operator), rows in generated.items():
        found[task, operator] = [(seq, [(kind, value)]) for seq, kind, value in sorted(rows)]
    return found


def _passed(causes: Iterable[Told]) -> list[Told]:
    output = Announced()
    return _not_empty((seq, output.passing(told)) for seq, told in causes)


def _not_empty(causes: Iterable[Told]) -> list[Told]:
    return [(seq, told) for seq, told in causes if told]
