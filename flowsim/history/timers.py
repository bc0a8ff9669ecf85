"""Timers from their registration, or the restore of a snapshot, to their firing or deletion, attempt by attempt."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum

import numpy as np

from flowsim.facts.kinds import LifeEvent, TimeDomain, TimerAction
from flowsim.history.recorded_facts import RecordedFacts
from flowsim.history.rows import Row, Rows
from flowsim.laws.job_graph import Operator
from flowsim.laws.job_history import NO_CHECKPOINT

TimerName = tuple[int, ...]
"""Time domain, timestamp, key, window and service of a timer."""


class Fate(Enum):
    """What became of a timer by the moment of the facts."""

    FIRED = "fired"
    DELETED = "deleted"
    WAITS = "waits"
    DROPPED = "dropped"
    """Its operator finished before a processing-time timer was due (rules 3.27, 4.12)."""
    LEFT = "left"
    """Its task finished before the watermark reached an event-time timer."""
    LOST = "lost"
    """Its attempt failed or was canceled."""


@dataclass(slots=True)
class TimerLife:
    """One timer in one attempt of its task. Rows are of table ``timers``."""

    task: int
    operator: Operator
    name: TimerName
    attempt: int
    registered: Row | None
    """None: no attempt of this run registered it, so the snapshot from which the job started contains it."""
    restored: int = NO_CHECKPOINT
    """The checkpoint with which the attempt got it; -1: the attempt registered it."""
    end: Row | None = None

    @property
    def is_event_time(self) -> bool:
        return self.name[0] == TimeDomain.EVENT_TIME

    @property
    def timestamp(self) -> int:
        return self.name[1]

    @property
    def key(self) -> int:
        return self.name[2]

    @property
    def window(self) -> tuple[int, int] | None:
        """The window of a window timer."""
        return (self.name[3], self.name[4]) if self.name[3] < self.name[4] else None

    @property
    def last_row(self) -> Row | None:
        return self.end or self.registered

    def fate(self, facts: RecordedFacts) -> Fate:
        """What became of it by the moment of the facts."""
        if self.end is not None:
            return Fate.FIRED if self.end["action"] == TimerAction.FIRE else Fate.DELETED
        if self.attempt < facts.attempt_of(self.task):
            return Fate.LOST
        life = facts.rows("lifecycle", self.task)
        last = life.equal(operator=-1).last()
        if last is not None and last["event"] in (LifeEvent.CANCELED, LifeEvent.FAILED):
            return Fate.LOST
        if not self.is_event_time and operator_end(facts, self) is not None:
            return Fate.DROPPED
        is_over = last is not None and last["event"] == LifeEvent.FINISHED
        return Fate.LEFT if is_over else Fate.WAITS


def operator_end(facts: RecordedFacts, life: TimerLife) -> Row | None:
    """The fact that the operator of a timer finished, or was closed without finishing."""
    rows = facts.rows("lifecycle", life.task).equal(operator=life.operator.operator)
    return rows.equal(event=LifeEvent.FINISH).first() or rows.equal(event=LifeEvent.CLOSE).first()


def keyed_vertices(facts: RecordedFacts) -> frozenset[int]:
    """The vertices whose input is keyed."""
    edges = facts.graph.edges.values()
    return frozenset(edge.target_vertex for edge in edges if edge.partitioner == "HASH")


def timer_operators(facts: RecordedFacts, tasks: frozenset[int] | None = None) -> Iterator[tuple[int, Operator]]:
    """The operators that have keys, and so may have timers, in each task (rule 9.17)."""
    keyed = keyed_vertices(facts)
    for task, about in facts.graph.tasks.items():
        if about.vertex in keyed and (tasks is None or task in tasks):
            yield from ((task, operator) for operator in facts.operators_of(task) if operator.input_operator < 0)


def lives_of(
    facts: RecordedFacts, task: int, operator: Operator, keys: frozenset[int] | None = None
) -> list[TimerLife]:
    """The timers of an operator of one task in all its attempts up to the moment; ``keys``: only of these keys."""
    lives: list[TimerLife] = []
    for attempt, rows in enumerate(facts.rows_of_attempts("timers", task)):
        open_: dict[TimerName, TimerLife] = {}
        before = facts.restored_rows("timers", task, attempt)
        checkpoint = facts.graph.history.restored(task, attempt)
        for row in _of(before, operator, keys):
            _step(open_, TimerLife(task, operator, timer_name(row), attempt, row, checkpoint), row)
        for name in _unregistered(_of(_whole_rows(facts, task, attempt), operator, keys)):
            open_.setdefault(name, TimerLife(task, operator, name, attempt, None, checkpoint))
        lives += open_.values()
        for row in _of(rows, operator, keys):
            life, is_known = TimerLife(task, operator, timer_name(row), attempt, row), timer_name(row) in open_
            if row["action"] != TimerAction.REGISTER and not is_known:
                life.registered, life.restored, life.end = None, checkpoint, row
                lives.append(life)
                continue
            if row["action"] == TimerAction.REGISTER:
                lives.append(life)
            else:
                open_[life.name].end = row
            _step(open_, life, row)
    return lives


def open_timers(
    facts: RecordedFacts, task: int, operator: Operator, keys: frozenset[int] | None = None
) -> list[TimerLife]:
    """The timers at the moment that have neither fired nor been deleted; only those that a call of this run registered."""
    lives = lives_of(facts, task, operator, keys)
    of_attempt = [life for life in lives if life.attempt == facts.attempt_of(task)]
    return [life for life in of_attempt if life.end is None and life.registered is not None]


def _whole_rows(facts: RecordedFacts, task: int, attempt: int) -> Rows:
    """The rows of an attempt, also those after the moment."""
    return facts.whole.rows_of_attempts("timers", task)[attempt]


def later_end(facts: RecordedFacts, life: TimerLife) -> Row | None:
    """The fact after the moment with which a timer that is open at the moment fires or is deleted in its attempt."""
    later = facts.later_rows("timers", life.task)
    return next((row for row in _of(later, life.operator, frozenset({life.key})) if timer_name(row) == life.name), None)


def _unregistered(rows: Iterable[Row]) -> list[TimerName]:
    """The timers of an attempt that fire or are deleted without a registration before: they came from the snapshot."""
    firsts: dict[TimerName, Row] = {}
    for row in rows:
        firsts.setdefault(timer_name(row), row)
    return [name for name, row in firsts.items() if row["action"] != TimerAction.REGISTER]


def _step(open_: dict[TimerName, TimerLife], life: TimerLife, row: Row) -> None:
    if row["action"] == TimerAction.REGISTER:
        open_[life.name] = life
    else:
        open_.pop(life.name, None)


def _of(rows: Rows, operator: Operator, keys: frozenset[int] | None) -> Rows:
    mask = rows["operator"] == operator.operator
    return rows.where(mask if keys is None else mask & np.isin(rows["key"], sorted(keys)))


def timer_name(row: Row) -> TimerName:
    """The timer that a row of ``timers`` is about."""
    names = ("domain", "timestamp", "key", "window_start", "window_end", "service")
    return tuple(row[name] for name in names)
