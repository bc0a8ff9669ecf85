"""The origin of event time at a place in a chain (rules 8.7, 11.2, 11.3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from flowsim.facts.kinds import ElementKind
from flowsim.laws.job_graph import Edge, JobGraph, Operator
from flowsim.units import MAX_WATERMARK

ACTIVE: Final = 0
IDLE: Final = -1
WATERMARK: Final = int(ElementKind.WATERMARK)
STATUS: Final = int(ElementKind.STATUS)

INPUTS: Final = -1
"""The origin of event time that the inputs of the task combine. An origin >= 0 is an operator that generates
watermarks, or queues them (rule 11.2)."""
FREE: Final = -2
"""The origin of event time that a source generates itself: no other facts determine it."""

ASYNC: Final = "async_wait"
"""Kind of the operators that queue watermarks."""

Emission = tuple[int, int]
"""Kind (WATERMARK or STATUS) and timestamp or status."""
LAST: Final[Emission] = (WATERMARK, MAX_WATERMARK)
"""The end of event time."""


class EventTimePaths:
    """The origin of each operator's output and input in a job; use with ``JobGraph.once``."""

    __slots__ = ("_edges", "_operators", "_with_inputs", "channels_by_origin")

    def __init__(self, graph: JobGraph) -> None:
        self._operators = {(o.vertex, o.operator): o for o in graph.operators}
        self._with_inputs = {task.vertex for task in graph.tasks.values() if task.inputs}
        self._edges = sorted(graph.edges.values())
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

    def upstream_operator(self, operator: Operator) -> Operator | None:
        """The upstream operator in the chain, with a smaller index, so that a walk upstream ends."""
        upstream_operator = operator.input_operator
        return (
            self._operators.get((operator.vertex, upstream_operator)) if upstream_operator < operator.operator else None
        )

    def edges_of(self, operator: Operator, is_passed: Callable[[Operator], bool]) -> list[Edge]:
        """The output edges of the operator and, in order, those after operators for which ``is_passed`` holds."""
        return [edge for edge in self._edges if self._behind(edge, is_passed) is operator]

    def _behind(self, edge: Edge, is_passed: Callable[[Operator], bool]) -> Operator | None:
        operator = self._operators.get((edge.source_vertex, edge.source_operator))
        while operator is not None and is_passed(operator):
            operator = self.upstream_operator(operator)
        return operator

    def origin_of_output(self, vertex: int, operator: int) -> int:
        """The nearest operator that generates or queues watermarks, from the operator upstream."""
        return self._origin(vertex, self._operators.get((vertex, operator)))

    def origin_of_input(self, vertex: int, operator: int) -> int:
        """The same for the operator's input."""
        found = self._operators.get((vertex, operator))
        return self._origin(vertex, None if found is None else self.upstream_operator(found))

    def keeps_back(self, vertex: int, operator: int) -> bool:
        """Whether the operator queues watermarks (rule 11.2)."""
        found = self._operators.get((vertex, operator))
        return found is not None and _queues(found)

    def origin_of_statuses(self, vertex: int, origin: int) -> int:
        """Statuses are not queued (rule 11.3): their origin is upstream of every operator that queues watermarks."""
        while self.keeps_back(vertex, origin):
            origin = self.origin_of_input(vertex, origin)
        return origin

    def _origin(self, vertex: int, operator: Operator | None) -> int:
        while operator is not None:
            if strategy_of(operator) is not None or _queues(operator):
                return operator.operator
            if operator.kind in ("source", "watermarks"):
                return FREE
            operator = self.upstream_operator(operator)
        return INPUTS if vertex in self._with_inputs else FREE

    def is_assigned(self, vertex: int, operator: int) -> bool:
        """Whether the operator, or one upstream of it in the chain, assigns timestamps: that one emits the last watermark
        (rule 8.7).
        """
        found = self._operators.get((vertex, operator))
        while found is not None and found.kind != "watermarks":
            found = self.upstream_operator(found)
        return found is not None

    def makes_the_first(self, vertex: int, origin: int) -> bool:
        """Whether the origin is a source: its task emits the last watermark of all (rule 4.10)."""
        return origin >= 0 and self._operators[vertex, origin].input_operator < 0 and vertex not in self._with_inputs

    def holds_back(self, vertex: int) -> bool:
        """Whether the head of the vertex fires the timers of one watermark in several actions (rule 9.18)."""
        head = self._operators.get((vertex, 0))
        return head is not None and head.params.get("interruptible_timers") is True


def held_back(graph: JobGraph) -> frozenset[int]:
    """The channels after a task whose timers can be interrupted, and may emit after EndOfData (rule 9.18)."""
    paths = graph.once(EventTimePaths)
    return frozenset(c.channel for c in graph.channels.values() if paths.holds_back(graph.edges[c.edge].source_vertex))


def strategy_of(operator: Operator) -> Mapping[str, object] | None:
    """The settings of the operator's watermark strategy, if it has a described one."""
    found = operator.params.get("watermarks")
    return found if isinstance(found, Mapping) else None


def _queues(operator: Operator) -> bool:
    return operator.kind == ASYNC and strategy_of(operator) is None


def name_of(emission: Emission) -> str:
    """A watermark or status, for evidence."""
    kind, value = emission
    if kind == STATUS:
        return "ACTIVE" if value == ACTIVE else "IDLE"
    return f"watermark {value}"
