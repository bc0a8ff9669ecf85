"""The input of the laws of async operators: the steps of every element, per operator and subtask."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from flowsim.facts.kinds import AsyncAction, ElementKind, LifeEvent
from flowsim.laws.job_graph import JobGraph, Operator, Task
from tests.support.oracle.facts import Facts

KIND: Final = "async_wait"
NO_OPERATOR: Final = "the job has no async operator"
NEVER: Final = 2**63
"""A sequence number behind all others."""

OUTCOMES: Final = (AsyncAction.COMPLETE, AsyncAction.FAIL)


class Step(NamedTuple):
    """A row of table ``async_elements``."""

    seq: int
    task: int
    operator: int
    time_ns: int
    entry: int
    action: int
    kind: int
    timestamp: int
    fingerprint: int
    attempt: int
    rows: int
    queued: int


@dataclass(slots=True)
class Place:
    """One async operator of one subtask, and what happened in it, in order."""

    task: Task
    operator: Operator
    steps: list[Step] = field(default_factory=list)
    opening: int = NEVER
    """Its first OPEN; what was put before comes from a snapshot (rule 11.22)."""
    end: int = NEVER
    """Its first END_INPUT."""
    closing: int = NEVER
    """Its first CLOSE."""
    ends: list[int] = field(default_factory=list)
    """Every END_INPUT."""
    closes: int = 0

    @property
    def ordered(self) -> bool:
        return self.operator.params.get("mode") == "ordered"

    @property
    def legacy(self) -> bool:
        return self.operator.params.get("design") == "legacy"

    @property
    def capacity(self) -> int:
        return self._number("capacity")

    @property
    def timeout_ms(self) -> int:
        return self._number("timeout_ms")

    @property
    def retries(self) -> bool:
        """Whether there is an outcome that asks for a retry (rule 11.24)."""
        retry = self.operator.params.get("retry")
        return isinstance(retry, Mapping) and (retry.get("result") is True or retry.get("exception") is True)

    @property
    def limit(self) -> int:
        """How often an element is tried again at most."""
        retry = self.operator.params.get("retry")
        if not self.retries or not isinstance(retry, Mapping):
            return 0
        limit = retry.get("max_attempts")
        return limit if isinstance(limit, int) else NEVER

    @property
    def is_head(self) -> bool:
        return self.operator.input_operator < 0

    def where(self, step: Step) -> dict[str, object]:
        """For evidence."""
        return {
            "task": step.task, "operator": step.operator, "seq": step.seq, "entry": step.entry,
            "action": AsyncAction(step.action),
        }  # fmt: skip

    def firsts(self, *actions: AsyncAction) -> dict[int, Step]:
        """Per entry the first of these steps."""
        found: dict[int, Step] = {}
        for step in self.steps:
            if step.action in actions:
                found.setdefault(step.entry, step)
        return found

    def _number(self, name: str) -> int:
        value = self.operator.params.get(name)
        return value if isinstance(value, int) else 0


@dataclass(slots=True)
class AsyncFacts:
    """All places of a job; and the steps that belong to none."""

    places: list[Place]
    strays: list[Step]

    @property
    def steps(self) -> list[Step]:
        return [*(step for place in self.places for step in place.steps), *self.strays]

    def count(self, *actions: AsyncAction, kind: ElementKind | None = None) -> int:
        """How many steps there are of these actions, wherever they belong."""
        return sum(step.action in actions and kind in (None, step.kind) for step in self.steps)


def async_operators(graph: JobGraph) -> list[Operator]:
    """Those that the laws speak of."""
    return [operator for operator in graph.operators if operator.kind == KIND]


def async_facts(facts: Facts, graph: JobGraph) -> AsyncFacts:
    """Sorts the facts of async operators by the places that they belong to."""
    places = {
        (task.task, operator.operator): Place(task, operator)
        for operator in async_operators(graph)
        for task in graph.tasks_of(operator.vertex)
    }
    strays: list[Step] = []
    for step in sorted(Step(*row) for row in facts.rows("async_elements")):
        place = places.get((step.task, step.operator))
        (strays if place is None else place.steps).append(step)
    for seq, task, number, _, event in sorted(facts.rows("lifecycle")) if places else ():
        place = places.get((task, number))
        if place is None:
            continue
        if event == LifeEvent.OPEN:
            place.opening = min(place.opening, seq)
        elif event == LifeEvent.END_INPUT:
            place.end = min(place.end, seq)
            place.ends.append(seq)
        elif event == LifeEvent.CLOSE:
            place.closing = min(place.closing, seq)
            place.closes += 1
    return AsyncFacts([place for _, place in sorted(places.items())], strays)
