"""The facts of one window operator of one subtask in order, each compared with what a model of it predicts.

Everything is derived from the task's own emitted watermarks and the operator's intake; the ``watermark`` columns that the
operator itself wrote are only compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final

from flowsim.facts.kinds import ElementKind, FireCause
from flowsim.laws.job_graph import JobGraph, Operator
from tests.support.oracle.facts import Facts, Row
from tests.support.oracle.window_model import NS_PER_MS, Expected, Intake, WindowModel
from tests.support.oracle.window_plan import WindowPlan, window_plan


class What(IntEnum):
    """Which table a row is of; rows with one ``seq`` are taken in this order."""

    MARK = 0
    INTAKE = 1
    MERGE = 2
    FIRE = 3
    DROP = 4
    CALLS = 5


_TABLES: Final = {
    What.INTAKE: "window_intake", What.MERGE: "window_merge", What.FIRE: "window_fire", What.DROP: "late_drop",
    What.CALLS: "window_joins",
}  # fmt: skip
_WATERMARK: Final = {What.INTAKE: 8, What.MERGE: 10, What.FIRE: 8, What.DROP: 8}
"""Where the column ``watermark`` stands."""


@dataclass(slots=True)
class Wrong:
    """One row that is wrong by itself."""

    what: str
    where: dict[str, object]


@dataclass(slots=True)
class WindowTimeline:
    """One window operator of one subtask."""

    task: int
    operator: Operator
    plan: WindowPlan
    events: list[tuple[int, What, Row]] = field(default_factory=list)
    model: WindowModel = field(init=False)
    fires: list[Row] = field(default_factory=list)
    drops: list[Row] = field(default_factory=list)
    merges: list[Row] = field(default_factory=list)
    calls: list[Row] = field(default_factory=list)
    """What was recorded, in the form of what was expected."""
    wrong: dict[What, list[Wrong]] = field(default_factory=lambda: {what: [] for what in What})
    counts: dict[What, int] = field(default_factory=lambda: dict.fromkeys(What, 0))
    clock_ns: int = 0
    """Of the last intake; the clock of a task does not go back."""
    last_cause: int = -2
    """Sequence number of the last intake or watermark: in a prefix, its effects may be missing."""

    def __post_init__(self) -> None:
        self.model = WindowModel(self.plan)

    def play(self) -> None:
        """Takes all rows in order."""
        self.events.sort()
        for position, (seq, what, row) in enumerate(self.events):
            self.counts[what] += 1
            match what:
                case What.MARK:
                    self.last_cause = seq
                    self.model.advance(seq, row[5])
                    continue
                case What.INTAKE:
                    self._compare_watermark(what, row)
                    self.last_cause = seq
                    self.clock_ns = max(self.clock_ns, row[3])
                    intake = Intake(seq, row[5], row[6], row[7], row[9], self.clock_ns, row[10] != 0)
                    self.model.take_in(intake, self._absorbed_behind(position, row[5]))
                    continue
                case What.CALLS:
                    self.calls.append((*row[5:], self.model.intakes))
                    continue
                case What.FIRE:
                    self._fire(position, row)
                case What.MERGE:
                    self.merges.append((*row[5:10], self.model.watermark, self.model.intakes))
                case _:
                    self.drops.append((self.model.intakes, *row[5:8], row[9]))
            self._compare_watermark(what, row)

    def _absorbed_behind(self, position: int, key: int) -> set[tuple[int, int]]:
        absorbed = set()
        for _, what, row in self.events[position + 1 :] if self.plan.merging else ():
            if what is not What.MERGE:
                break
            if row[5] == key:
                absorbed.add((row[6], row[7]))
        return absorbed

    def _fire(self, position: int, row: Row) -> None:
        key, start, end, _, rows, total, xor, result, cause, at = row[5:]
        if not self.plan.predicted:
            self._fire_unforetold(row)
            return
        if cause == FireCause.PROCESSING_TIME_TIMER:
            if row[3] < (at + 1) * NS_PER_MS:
                self._note(What.FIRE, "before its time", row)
            self.model.fired_by_clock(key, (start, end), at)
        model = self.model
        self.fires.append((key, start, end, model.watermark, model.intakes, rows, total, xor, result, cause, at))
        position -= 1
        while position > 0 and self.events[position][1] is What.CALLS:
            position -= 1
        seq, what, before = self.events[position] if position >= 0 else (-1, What.MARK, ())
        if what is What.FIRE and before[13] == cause:
            overtakes = before[6] < start if cause == FireCause.ELEMENT else at < before[14]
            if overtakes:
                self._note(What.FIRE, f"out of order behind seq {seq}", row)

    def _fire_unforetold(self, row: Row) -> None:
        """Contents only: what the window has taken in since it was last purged."""
        key, window = row[5], (row[6], row[7])
        rows, total, xor, result, cause, at = row[9:]
        held = self.model.fires_unforetold(key, window, rows, result)
        fits = held is not None and (rows <= held[0] if self.plan.keeps_unknown else held == (rows, total, xor))
        if not fits:
            self._note(What.FIRE, "not what the window holds", row)
        if cause == FireCause.PROCESSING_TIME_TIMER:
            self.model.fired_by_clock(key, window, at)

    def _compare_watermark(self, what: What, row: Row) -> None:
        reported, derived = row[_WATERMARK[what]], self.model.watermark
        if reported != derived:
            where = {
                "table": _TABLES[what],
                "task": self.task,
                "seq": row[0],
                "watermark": reported,
                "derived": derived,
            }
            self.wrong[what].append(Wrong("not the task's watermark", where))

    def _note(self, what: What, wrong: str, row: Row) -> None:
        where: dict[str, object] = {"table": _TABLES[what], "task": self.task, "seq": row[0], "key": row[5]}
        self.wrong[what].append(Wrong(wrong, where))

    def expected(self, what: What) -> list[Expected]:
        """What must have followed, of one table."""
        if what is What.DROP:
            return self.model.drops
        if what is What.CALLS:
            return self.model.calls
        return self.model.fires if what is What.FIRE else self.model.merges

    def recorded(self, what: What) -> list[Row]:
        """What was recorded, in the form of what was expected."""
        if what is What.DROP:
            return self.drops
        if what is What.CALLS:
            return self.calls
        return self.fires if what is What.FIRE else self.merges


def window_timelines(facts: Facts, graph: JobGraph) -> list[WindowTimeline]:
    """One timeline per judged window operator and subtask, played."""
    timelines: dict[tuple[int, int], WindowTimeline] = {}
    tasks: dict[int, list[WindowTimeline]] = {}
    for operator in graph.operators:
        plan = window_plan(operator)
        for task in graph.tasks_of(operator.vertex) if plan is not None else ():
            if task.inputs == 1 and plan is not None:
                timeline = WindowTimeline(task.task, operator, plan)
                timelines[task.task, operator.operator] = timeline
                tasks.setdefault(task.task, []).append(timeline)
    if not timelines:
        return []
    for row in facts.rows("task_watermark"):
        if row[3] == 0 and row[4] == ElementKind.WATERMARK:
            for timeline in tasks.get(row[1], ()):
                timeline.events.append((row[0], What.MARK, row))
    for what, table in _TABLES.items():
        _gather(facts.rows(table), what, timelines)
    for timeline in timelines.values():
        timeline.play()
    return list(timelines.values())


def _gather(rows: Sequence[Row], what: What, timelines: dict[tuple[int, int], WindowTimeline]) -> None:
    for row in rows:
        found = timelines.get((row[1], row[2]))
        if found is not None and (what is not What.CALLS or found.plan.join is not None):
            found.events.append((row[0], what, row))


def unjudged(graph: JobGraph) -> str:
    """The window operators of which something is not judged, and what; '' where all is."""
    reported = []
    for operator in graph.operators:
        if operator.kind != "window":
            continue
        plan = window_plan(operator)
        one_input = all(task.inputs == 1 for task in graph.tasks_of(operator.vertex))
        missing = "all" if plan is None or not one_input else plan.unjudged
        if missing:
            reported.append(f"{operator.name} ({missing})")
    return f"not checked: {', '.join(reported)}" if reported else ""
