"""Part of law task-watermark: what a periodic call generates is there when the call has run (rules 8.1, 8.2, 8.6).

Slow and plain: for every question the rows are read again from the first one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from flowsim.facts.kinds import ElementKind, LifeEvent
from flowsim.laws.job_graph import JobGraph, Operator, Task
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP, NS_PER_MS
from tests.support.oracle.facts import Facts, Findings
from tests.support.oracle.idle_timeouts import ENDS, LAST, Activity
from tests.support.oracle.merged_splits import Made, ended, highest, is_known, merged


@dataclass(frozen=True)
class Calls:
    """When the periodic calls of one operator of one subtask ran."""

    activity: Activity
    interval_ns: int
    stopped: int

    def after(self, seq: int) -> int:
        """The first row at which the calls after the action of a row have run; LAST: no row shows it."""
        end = next((end for end in self.activity.ends if end[0] > seq), None)
        return LAST if end is None else self.after_end(*end)

    def after_end(self, seq: int, time_ns: int) -> int:
        moment = self.activity.first(seq, time_ns + self.interval_ns)
        return LAST if moment is None or moment[0] >= self.stopped else moment[0]


def calls_of(facts: Facts, task: Task, operator: Operator) -> Calls | None:
    """None: they are not known."""
    strategy = operator.params.get("watermarks")
    interval = strategy.get("auto_watermark_interval_ms") if isinstance(strategy, Mapping) else None
    life = [row for row in facts.rows("lifecycle") if row[1] == task.task]
    opened = any(row[2] == operator.operator and row[4] == LifeEvent.OPEN for row in life)
    activity = Activity([row for row in facts.rows("actions") if row[1] == task.task])
    is_source = operator.kind == "source"
    if not isinstance(interval, int) or interval <= 0 or (is_source and not opened) or not activity.is_known:
        return None
    activity.read()
    stopped = min((row[0] for row in life if row[4] in ENDS and row[2] in (operator.operator, -1)), default=LAST)
    return Calls(activity, interval * NS_PER_MS + (0 if is_source else 2 * NS_PER_MS), stopped)


def judge_due(
    findings: Findings, facts: Facts, graph: JobGraph, edges: Mapping[tuple[int, int], int],
    made: Mapping[tuple[int, int], Sequence[Made]],
) -> None:  # fmt: skip
    """``edges``: per vertex and operator the first edge that carries every record that a strategy saw."""
    for task in graph.tasks.values():
        for operator in graph.operators_of(task.vertex):
            calls = calls_of(facts, task, operator)
            if calls is None:
                continue
            rows = sorted(made.get((task.task, operator.operator), ()))
            edge = edges.get((task.vertex, operator.operator))
            sent = _sent(facts, graph, task, edge)
            for seq in [*_late_records(operator, rows, sent, calls), *_late_merges(rows, calls)]:
                findings.broken("not there", task=task.task, operator=operator.operator, seq=seq)


def _sent(facts: Facts, graph: JobGraph, task: Task, edge: int | None) -> list[tuple[int, int]]:
    channels = {channel.channel for channel in graph.channels.values() if channel.edge == edge}
    return [
        (row[0], row[6])
        for row in facts.rows("sent")
        if row[1] == task.task and row[3] in channels and row[5] == ElementKind.RECORD
    ]


def _late_records(operator: Operator, rows: Sequence[Made], sent: list[tuple[int, int]], calls: Calls) -> list[int]:
    strategy = operator.params["watermarks"]
    assert isinstance(strategy, Mapping)
    bound = strategy.get("bound_ms", 0)
    if strategy.get("kind") not in ("bounded", "monotonous") or not isinstance(bound, int):
        return []
    found, needed = [], NO_TIMESTAMP
    for end in calls.activity.ends:
        timestamp = max((at for seq, at in sent if seq < end[0]), default=NO_TIMESTAMP)
        if timestamp <= needed or timestamp - bound - 1 <= NO_TIMESTAMP:
            continue
        needed = timestamp
        shown = min((row[0] for place, row in enumerate(rows) if _shown(rows, place) >= timestamp), default=LAST)
        moment = calls.after_end(*end)
        if moment < shown:
            found.append(moment)
    return found


def _shown(rows: Sequence[Made], place: int) -> int:
    """The highest timestamp that a row shows to be counted in a watermark."""
    _, split, kind, timestamp, _, most, _ = rows[place]
    if split == -1 and (kind, timestamp) == (ElementKind.WATERMARK, MAX_WATERMARK):
        return MAX_WATERMARK
    of_splits = any(row[1] != -1 for row in rows[:place]) and is_known(rows[: place + 1])
    return NO_TIMESTAMP if split == -1 and of_splits else most


def _late_merges(rows: Sequence[Made], calls: Calls) -> list[int]:
    found = []
    for place, row in enumerate(rows):
        if row[1] in ended(rows[:place]) or row[1] not in ended(rows[: place + 1]) or not is_known(rows[: place + 1]):
            continue
        until = LAST
        for later in range(place, len(rows)):
            if not is_known(rows[: later + 1]) or merged(rows[: later + 1]) <= highest(rows[: later + 1]):
                until = rows[later][0]
                break
        moment = calls.after(row[0])
        if moment < until:
            found.append(moment)
    return found
