"""Event time behind an async operator: watermarks as they leave its queue, statuses at once (rules 11.2, 11.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from flowsim.facts.kinds import AsyncAction, ElementKind, LifeEvent
from flowsim.laws.job_graph import JobGraph, Operator, Task
from tests.support.oracle.event_time_paths import FREE, Cause, Emission, EventTimePaths, passing
from tests.support.oracle.facts import Facts

BEGINNING = -1
"""Sequence number of the cause before all others."""
NEVER: Final = 2**63
"""A sequence number behind all others."""
Mark = tuple[int, int | None]
"""Sequence number of an emission, and the watermark that it was; None for a record's."""


class Step(NamedTuple):
    """A put or an emission of table ``async_elements``."""

    seq: int
    entry: int
    action: int
    kind: int
    timestamp: int


@dataclass(slots=True)
class Place:
    """One async operator of one subtask, and its puts and emissions, in order."""

    task: Task
    operator: Operator
    steps: list[Step] = field(default_factory=list)
    opening: int = NEVER
    """Its first OPEN; what was put before comes from a snapshot (rule 11.22)."""

    @property
    def legacy(self) -> bool:
        return self.operator.params.get("design") == "legacy"


@dataclass(frozen=True, slots=True)
class QueueEmissions:
    """What left one async operator of one task, and the statuses that it received; None: unknown."""

    place: Place
    marks: list[Mark]
    statuses: list[tuple[int, int]] | None
    next_mark: int | None
    """In a prefix the watermark that leaves next, and perhaps has."""

    def causes(self, own_statuses: Sequence[tuple[int, int]] = ()) -> tuple[list[Cause], list[Emission]]:
        """For each cause what it emits, and what it perhaps emitted after the last one.

        An emission is a fact only after it was made, so the cause before it owns it. ``own_statuses``: those that count
        where nothing is known of statuses; they are causes too.
        """
        statuses = self.statuses if self.statuses is not None else own_statuses
        steps: list[tuple[int, Emission | None, bool]] = [
            (seq, None if at is None else (ElementKind.WATERMARK, at), True) for seq, at in self.marks
        ]
        steps += [(seq, (ElementKind.STATUS, status), False) for seq, status in statuses]
        steps.sort(key=lambda step: step[0])
        causes: list[Cause] = [(BEGINNING, [])]
        made: list[tuple[list[Emission] | None, Emission]] = []
        """Each watermark and status in order, and which cause or None makes it, if it passes."""
        for seq, emission, is_behind in steps:
            before = causes[-1][1]
            causes.append((seq, []))
            if emission is not None:
                owner = before if is_behind else causes[-1][1]
                made.append((owner if is_behind or self.statuses is not None else None, emission))
        perhaps: list[Emission] = []
        if self.next_mark is not None:
            made.append((perhaps, (ElementKind.WATERMARK, self.next_mark)))
        for (cause, emission), passes in zip(made, passing([emission for _, emission in made]), strict=True):
            if passes and cause is not None:
                cause.append(emission)
        return causes, perhaps


def emitted_by_queues(
    facts: Facts, graph: JobGraph, paths: EventTimePaths, called_for: dict[tuple[int, int], list[Cause]], whole: bool
) -> dict[tuple[int, int], QueueEmissions]:
    """Per task and async operator; ``called_for`` says what every other origin tells."""
    found: dict[tuple[int, int], QueueEmissions] = {}
    for place in _places(facts, graph):
        task, operator = place.task.task, place.operator.operator
        origin = paths.origin_of_statuses(place.task.vertex, operator)
        statuses = None
        if origin != FREE:
            statuses = [
                (seq, value)
                for seq, reported in called_for.get((task, origin), ())
                for kind, value in reported
                if kind == ElementKind.STATUS
            ]
        marks: list[Mark] = [
            (step.seq, step.timestamp if step.kind == ElementKind.WATERMARK else None)
            for step in place.steps
            if step.action == AsyncAction.EMIT
        ]
        found[task, operator] = QueueEmissions(place, marks, statuses, None if whole else _next_mark(place))
    return found


def taken_marks(place: Place) -> list[tuple[int, int, int]]:
    """Sequence number, kind and timestamp of the watermarks that came into the queue, but not from a snapshot."""
    return [
        (step.seq, step.kind, step.timestamp)
        for step in place.steps
        if step.action == AsyncAction.PUT and step.kind == ElementKind.WATERMARK and step.seq > place.opening
    ]


def _next_mark(place: Place) -> int | None:
    left = max((step.entry for step in place.steps if step.action == AsyncAction.EMIT), default=-1)
    for step in sorted(place.steps, key=lambda step: (step.entry, step.seq)):
        if step.action == AsyncAction.PUT and step.kind == ElementKind.WATERMARK and step.entry > left:
            return step.timestamp
    return None


def _places(facts: Facts, graph: JobGraph) -> list[Place]:
    places = {
        (task.task, operator.operator): Place(task, operator)
        for operator in graph.operators
        if operator.kind == "async_wait"
        for task in graph.tasks_of(operator.vertex)
    }
    for seq, task, operator, _, entry, action, kind, timestamp, *_ in sorted(facts.rows("async_elements")):
        if (task, operator) in places:
            places[task, operator].steps.append(Step(seq, entry, action, kind, timestamp))
    for seq, task, operator, _, event in sorted(facts.rows("lifecycle")) if places else ():
        if (task, operator) in places and event == LifeEvent.OPEN:
            place = places[task, operator]
            place.opening = min(place.opening, seq)
    return [place for _, place in sorted(places.items())]
