"""Law cleanup, by its definition: after each record and each timer, the state is compared with the pending timers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from flowsim.facts.kinds import TimeDomain, TimerAction
from flowsim.laws.job_graph import JobGraph, Operator
from flowsim.laws.law import Outcome
from flowsim.units import MAX_WATERMARK, as_long
from tests.support.oracle.facts import Facts, Findings, Row, not_applicable
from tests.support.oracle.window_plan import WindowPlan, window_plan

Piece = tuple[int, int, int, TimeDomain, int]
"""Key, both bounds of the window of its timer, domain and time of the timer."""
TIMER, INTAKE = "timers", "window_intake"
FLINKS = ("event_time", "processing_time", "never", "end_of_stream", "count", "delta", "continuous_event_time",
          "continuous_processing_time", "purging", "timeout", "any_of")  # fmt: skip


@dataclass
class Keeper:
    """One operator of one subtask."""

    plan: WindowPlan | tuple[int, int]
    trigger: object
    windows: dict[int, set[tuple[int, int]]] = field(default_factory=dict)
    """Of each key, where they merge."""
    kept: set[Piece] = field(default_factory=set)

    def timer_of(self, key: int, window: tuple[int, int]) -> Piece:
        assert isinstance(self.plan, WindowPlan)
        domain = TimeDomain.EVENT_TIME if self.plan.event_time else TimeDomain.PROCESSING_TIME
        return (key, *window, domain, self.plan.cleanup_of(window))

    def add(self, intake: Row) -> tuple[list[Piece], list[Piece]]:
        """What a record is added to, and what became part of that."""
        _, _, _, time_ns, _, key, timestamp, _, watermark, gap, side = intake
        if not isinstance(self.plan, WindowPlan):
            lower, upper = self.plan
            reach = -lower if side else upper
            until = as_long(timestamp + reach) if reach > 0 else timestamp
            name = 2 if side else 1
            return [(key, name, name, TimeDomain.EVENT_TIME, until)] if timestamp >= watermark else [], []
        added, absorbed = [], []
        for window in self.plan.windows_of(timestamp, time_ns // 1_000_000, gap):
            if self.plan.merging:
                window, members = self.united(key, window)
                absorbed += [self.timer_of(key, member) for member in members]
            if self.plan.is_window_late(window, watermark):
                self.windows.get(key, set()).discard(window)
            elif self.plan.cleanup_of(window) != MAX_WATERMARK:
                added.append(self.timer_of(key, window))
        return added, absorbed

    def united(self, key: int, new: tuple[int, int]) -> tuple[tuple[int, int], list[tuple[int, int]]]:
        known = self.windows.setdefault(key, set())
        met = {window for window in known if window[0] <= new[1] and new[0] <= window[1]}
        whole = min([new[0], *(start for start, _ in met)]), max([new[1], *(end for _, end in met)])
        self.windows[key] = known - met | {whole}
        return whole, sorted(met - {whole})

    def may_delete(self) -> bool:
        """Whether the trigger may take the timer of the cleanup away when it is asked about a timer."""
        return _may_delete(self.trigger)


def _may_delete(trigger: object) -> bool:
    if not isinstance(trigger, Mapping) or trigger.get("kind") not in FLINKS:
        return True
    if trigger["kind"] == "any_of":
        return any(map(_may_delete, trigger["of"]))
    if trigger["kind"] == "timeout" and trigger.get("clear_on_timeout"):
        return True
    return trigger["kind"] in ("purging", "timeout") and _may_delete(trigger.get("of"))


def keeper_of(graph: JobGraph, operator: Operator, inputs: int) -> Keeper | None:
    """None: the operator is not judged."""
    if operator.kind == "interval_join":
        bounds = judged_bounds(graph, operator)
        return None if bounds is None else Keeper(bounds, None)
    plan = window_plan(operator) if operator.kind == "window" and inputs == 1 else None
    return None if plan is None else Keeper(plan, operator.params.get("trigger"))


def cleanup(facts: Facts, graph: JobGraph, whole: bool) -> Outcome:
    """Law cleanup: whatever is kept has a timer, and what was absorbed has none."""
    findings = Findings(0)
    judged = False
    for operator in graph.operators:
        for task in graph.tasks_of(operator.vertex):
            keeper = keeper_of(graph, operator, task.inputs)
            if keeper is not None:
                judged = True
                _judge(facts, findings, keeper, task.task, operator.operator, whole)
    if not judged:
        return not_applicable("cleanup", "the job has no window or interval join that this law checks")
    return findings.outcome("cleanup")


def _judge(facts: Facts, findings: Findings, keeper: Keeper, task: int, operator: int, whole: bool) -> None:
    rows = [
        (row[0], table, row) for table in (INTAKE, TIMER) for row in facts.rows(table) if row[1:3] == (task, operator)
    ]
    rows.sort()
    findings.rows_examined += len(rows)
    causes = [at for at, (_, table, row) in enumerate(rows) if table == INTAKE or row[4] == TimerAction.FIRE]
    waiting: set[Piece] = set()
    reported: set[Piece] = set()
    for first, after in pairwise([0, *causes, len(rows)]):
        touched: list[Piece] = []
        absorbed: list[Piece] = []
        handles_timer = first in causes and rows[first][1] == TIMER
        for _, table, row in rows[first:after]:
            if table == INTAKE:
                touched, absorbed = keeper.add(row)
                keeper.kept = (keeper.kept - set(absorbed)) | set(touched)
                continue
            _, _, _, _, action, domain, timestamp, _, key, start, _, end, _ = row
            piece = (key, start, end, TimeDomain(domain), timestamp)
            if action == TimerAction.REGISTER:
                waiting.add(piece)
                reported.discard(piece)
                continue
            waiting.discard(piece)
            if action == TimerAction.FIRE and piece in keeper.kept:
                keeper.kept.remove(piece)
                keeper.windows.get(key, set()).discard((start, end))
            elif action == TimerAction.DELETE and not (handles_timer and keeper.may_delete()):
                touched.append(piece)
        if not whole and after == len(rows):
            return
        for piece in dict.fromkeys(touched):
            if piece in keeper.kept and piece not in waiting | reported:
                reported.add(piece)
                findings.broken("kept without a timer", task=task, operator=operator, piece=list(piece))
        for piece in absorbed:
            if piece in waiting:
                waiting.remove(piece)
                findings.broken("absorbed, but its timer waits", task=task, operator=operator, piece=list(piece))


def judged_bounds(graph: JobGraph, operator: Operator) -> tuple[int, int] | None:
    """None: the operator is not judged."""
    lower, upper = operator.params.get("lower_ms"), operator.params.get("upper_ms")
    head = next(o for o in graph.operators if (o.vertex, o.operator) == (operator.vertex, 0))
    if head.params.get("interruptible_timers") is True or operator.input_operator != -1:
        return None
    return (lower, upper) if isinstance(lower, int) and isinstance(upper, int) else None
