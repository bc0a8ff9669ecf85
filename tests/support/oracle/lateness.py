"""Law lateness: exactly the late records of an operator are counted, or sent to a side output."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from flowsim.facts.kinds import ElementKind
from flowsim.laws.job_graph import JobGraph, Operator, Task
from flowsim.laws.law import Outcome
from tests.support.oracle.facts import Facts, Findings, not_applicable
from tests.support.oracle.window_timeline import window_timelines

LATE_KINDS: Final = ("window", "interval_join")
"""Kinds of operators that can find a record late."""

_COUNTED, _TO_THE_SIDE = 0, 1

Place = tuple[int, int]


@dataclass(slots=True)
class _Books:
    """What was counted of each operator of each subtask."""

    drops: dict[Place, list[int]] = field(default_factory=dict)
    """Late rows that were only counted, and those that went to a side output."""
    intakes: int = 0
    counters: dict[Place, tuple[int, int, int, int]] = field(default_factory=dict)
    sent: dict[int, int] = field(default_factory=dict)
    """Records by channel."""


def lateness(facts: Facts, graph: JobGraph, whole: bool) -> Outcome:
    """Law lateness: as many records are dropped as were late, and each shows in the counter or at the side output's readers."""
    operators = [operator for operator in graph.operators if operator.kind in LATE_KINDS]
    if not operators:
        return not_applicable("lateness", "no operator of the job can find a record late")
    places = {(task.task, each.operator): each for each in operators for task in graph.tasks_of(each.vertex)}
    books = _keep_books(facts, set(places))
    findings = Findings(books.intakes + sum(sum(drops) for drops in books.drops.values()))
    late = {(each.task, each.operator.operator): len(each.model.drops) for each in window_timelines(facts, graph)}
    late.update(_late_of_joins(facts, {place for place, each in places.items() if each.kind == "interval_join"}))
    for place, operator in places.items():
        counted, aside = books.drops.get(place, (0, 0))
        where = {"task": place[0], "operator": place[1], "name": operator.name}
        if place in late and abs(late[place] - counted - aside) > (0 if whole else 1):
            findings.broken(
                "late rows that were not dropped, or others", late=late[place], dropped=counted + aside, **where
            )
        counters = books.counters.get(place)
        if counters is not None and counters[3] != counted:
            findings.broken("dropped other than counted", counted=counters[3], dropped=counted, **where)
        read = _read_aside(graph, books, graph.tasks[place[0]], operator)
        if read is not None and read < aside - (counters is None):
            findings.broken("dropped to the side output, but not read there", read=read, dropped=aside, **where)
    return findings.outcome("lateness")


def _late_of_joins(facts: Facts, joins: set[Place]) -> dict[Place, int]:
    """How many records of each interval join came behind its watermark (rule 10.35)."""
    late = dict.fromkeys(joins, 0)
    for row in facts.rows("window_intake") if joins else ():
        place = (row[1], row[2])
        if place in late:
            late[place] += row[6] < row[8]
    return late


def _keep_books(facts: Facts, places: set[Place]) -> _Books:
    books = _Books()
    books.intakes = sum((row[1], row[2]) in places for row in facts.rows("window_intake"))
    for row in facts.rows("late_drop"):
        place = (row[1], row[2])
        if place in places:
            books.drops.setdefault(place, [0, 0])[_TO_THE_SIDE if row[9] else _COUNTED] += 1
    for _, task, operator, _, received, out, aside, dropped in sorted(facts.rows("operator_counts")):
        books.counters.setdefault((task, operator), (received, out, aside, dropped))
    for row in facts.rows("sent"):
        if row[5] == ElementKind.RECORD:
            books.sent[row[3]] = books.sent.get(row[3], 0) + 1
    return books


def _read_aside(graph: JobGraph, books: _Books, task: Task, operator: Operator) -> int | None:
    """What readers got from the late side outputs; None where one has no reader, or a reader has not recorded it."""
    tags = operator.params.get("late_tags")
    total = 0
    for tag in tags if isinstance(tags, list) else ():
        readers: list[int] = []
        for after in graph.operators:
            if (after.vertex, after.input_operator, after.input_tag) == (task.vertex, operator.operator, tag):
                counters = books.counters.get((task.task, after.operator))
                if counters is None:
                    return None
                readers.append(counters[0])
        for edge in graph.edges.values():
            if (edge.source_vertex, edge.source_operator, edge.side_output) == (task.vertex, operator.operator, tag):
                channels = [c for c in graph.channels.values() if c.edge == edge.edge and c.source_task == task.task]
                sent = [books.sent.get(channel.channel, 0) for channel in channels]
                readers += sent if edge.partitioner == "BROADCAST" else [sum(sent)]
        if not readers:
            return None
        total += min(readers)
    return total if tags else None
