"""Where the event time of a place in a chain comes from, and how inputs and outputs combine it (rules 5.8, 8.7, 8.16)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from flowsim.facts.kinds import ElementKind
from flowsim.laws.job_graph import JobGraph, Operator
from flowsim.units import NO_TIMESTAMP

ACTIVE: Final = 0
IDLE: Final = -1
WATERMARK: Final = int(ElementKind.WATERMARK)
STATUS: Final = int(ElementKind.STATUS)

INPUTS: Final = -1
"""The origin of event time that the inputs of the task combine. An origin >= 0 is an operator that generates watermarks,
or keeps them in a queue (rule 11.2)."""
FREE: Final = -2
"""The origin of event time that a source generates itself: no other facts say what it must be."""

ASYNC: Final = "async_wait"
"""Kind of the operators that keep watermarks in a queue."""

Emission = tuple[int, int]
"""Kind (WATERMARK or STATUS) and timestamp or status."""


class EventTimePaths:
    """The origin of what leaves and of what reaches each operator of a job; use with ``JobGraph.once``."""

    __slots__ = ("_operators", "_with_inputs", "channels_by_origin")

    def __init__(self, graph: JobGraph) -> None:
        self._operators = {(o.vertex, o.operator): o for o in graph.operators}
        self._with_inputs = {task.vertex for task in graph.tasks.values() if task.inputs}
        self.channels_by_origin: dict[int, dict[int, list[int]]] = {}
        """Per task and origin the channels that carry it."""
        origins: dict[int, int] = {}
        for channel in sorted(graph.channels.values()):
            origin = origins.get(channel.edge)
            if origin is None:
                edge = graph.edges[channel.edge]
                origin = origins[channel.edge] = self.origin_of_output(edge.source_vertex, edge.source_operator)
            self.channels_by_origin.setdefault(channel.source_task, {}).setdefault(origin, []).append(channel.channel)

    def operator(self, vertex: int, operator: int) -> Operator | None:
        """The description of an operator."""
        return self._operators.get((vertex, operator))

    def feeder(self, operator: Operator) -> Operator | None:
        """What feeds the operator in its chain: an operator of a smaller index, so that a walk along the chain ends."""
        feeder = operator.input_operator
        return self._operators.get((operator.vertex, feeder)) if feeder < operator.operator else None

    def origin_of_output(self, vertex: int, operator: int) -> int:
        """The last operator that generates or queues watermarks among the operator and those that feed it."""
        return self._origin(vertex, self._operators.get((vertex, operator)))

    def origin_of_input(self, vertex: int, operator: int) -> int:
        """The same for what reaches the operator."""
        found = self._operators.get((vertex, operator))
        return self._origin(vertex, None if found is None else self.feeder(found))

    def keeps_back(self, vertex: int, operator: int) -> bool:
        """Whether watermarks wait in a queue of the operator (rule 11.2)."""
        found = self._operators.get((vertex, operator))
        return found is not None and _queues(found)

    def origin_of_statuses(self, vertex: int, origin: int) -> int:
        """Statuses are not queued (rule 11.3): theirs lies before every operator that queues watermarks."""
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
        return INPUTS if vertex in self._with_inputs else FREE

    def is_assigned(self, vertex: int, operator: int) -> bool:
        """Whether what leaves the operator passed one that assigns timestamps: that one emits the last watermark (8.7)."""
        found = self._operators.get((vertex, operator))
        while found is not None and found.kind != "watermarks":
            found = self.feeder(found)
        return found is not None

    def makes_the_first(self, vertex: int, origin: int) -> bool:
        """Whether the origin is a source: its task emits the last watermark of all (rule 4.10)."""
        return origin >= 0 and self._operators[vertex, origin].input_operator < 0 and vertex not in self._with_inputs

    def holds_back(self, vertex: int) -> bool:
        """Whether the head of the vertex spreads the timers of one watermark over several actions (rule 9.18)."""
        head = self._operators.get((vertex, 0))
        return head is not None and head.params.get("interruptible_timers") is True


def _queues(operator: Operator) -> bool:
    return operator.kind == ASYNC and not isinstance(operator.params.get("watermarks"), Mapping)


class InputsModel:
    """Combines the event time of the inputs of one task (rule 8.16); that of a single input passes as it is."""

    __slots__ = ("_all_idle", "_idle", "_marks", "_reached")

    def __init__(self, inputs: int) -> None:
        self._marks = [NO_TIMESTAMP] * inputs
        self._idle = [False] * inputs
        self._all_idle = False
        self._reached = NO_TIMESTAMP

    @property
    def has_idle(self) -> bool:
        """Whether one of several inputs is idle."""
        return True in self._idle

    def take(self, index: int, kind: int, value: int) -> Sequence[Emission]:
        """What reaches the head operator when one input emits a watermark or status."""
        if len(self._marks) == 1:
            return ((kind, value),)
        if not 0 <= index < len(self._marks):
            return ()
        was_idle = self._all_idle
        if kind == WATERMARK:
            self._marks[index] = max(self._marks[index], value)
        self._idle[index] = kind == STATUS and value == IDLE
        active = [mark for mark, idle in zip(self._marks, self._idle, strict=True) if not idle]
        self._all_idle = not active
        lowest = min(active) if active else max(self._marks)
        emitted: list[Emission] = []
        if lowest > self._reached:
            self._reached = lowest
            emitted.append((WATERMARK, lowest))
        if kind == STATUS and self._all_idle is not was_idle:
            emitted.append((kind, value))
        return emitted


class Announced:
    """What an output lets pass: no watermark while it is idle, and only changes of status (rule 5.8)."""

    __slots__ = ("status",)

    def __init__(self) -> None:
        self.status = ACTIVE

    @property
    def is_idle(self) -> bool:
        """Whether it drops watermarks."""
        return self.status == IDLE

    def passing(self, emitted: Sequence[Emission]) -> list[Emission]:
        """The watermarks and statuses that pass, in order."""
        passed = []
        for kind, value in emitted:
            if kind == STATUS:
                if value == self.status:
                    continue
                self.status = value
            elif self.status == IDLE:
                continue
            passed.append((kind, value))
        return passed


def name_of(kind: int, value: int) -> str:
    """A watermark or status, for evidence."""
    if kind == STATUS:
        return "ACTIVE" if value == ACTIVE else "IDLE"
    return f"watermark {value}"
