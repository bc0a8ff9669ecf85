"""Law joins, by its definition: every record is compared with every record of the other side that came before it."""

from __future__ import annotations

from dataclasses import dataclass, field

from flowsim.facts.kinds import ElementKind
from flowsim.laws.job_graph import JobGraph, Operator
from flowsim.units import NO_TIMESTAMP, as_long
from tests.support.oracle.catalogue import Outcome
from tests.support.oracle.facts import Facts, Findings, Row, multiset_difference, not_applicable

IDLE = -1


@dataclass(frozen=True)
class Intake:
    """A record that a join took in, and the watermark at that time."""

    number: int
    seq: int
    key: int
    timestamp: int
    fingerprint: int
    is_left: bool
    watermark: int


@dataclass
class Join:
    """One interval join of one subtask."""

    lower: int
    upper: int
    marks: list[tuple[int, int]] = field(default_factory=lambda: [(-1, NO_TIMESTAMP)])
    """Each watermark that the inputs make together, and where."""
    intakes: list[Intake] = field(default_factory=list)

    def watermark_at(self, seq: int) -> int:
        return max(value for at, value in self.marks if at < seq)

    def meet(self, one: Intake, other: Intake) -> bool:
        """Rule 10.33."""
        left, right = (one, other) if one.is_left else (other, one)
        if one.is_left == other.is_left or left.key != right.key:
            return False
        if one.is_left:
            return as_long(left.timestamp + self.lower) <= right.timestamp <= as_long(left.timestamp + self.upper)
        return as_long(right.timestamp - self.upper) <= left.timestamp <= as_long(right.timestamp - self.lower)

    def waits(self, intake: Intake, seq: int) -> bool:
        """Rules 10.35 and 10.36."""
        reach = self.upper if intake.is_left else -self.lower
        until = as_long(intake.timestamp + reach) if reach > 0 else intake.timestamp
        forgotten = any(intake.seq < at < seq and value >= until for at, value in self.marks)
        return intake.timestamp >= intake.watermark and not forgotten

    def expected(self, new: Intake) -> list[Row]:
        """The pairs of one record."""
        if new.timestamp < new.watermark:
            return []
        pairs = list[Row]()
        for old in self.intakes[: new.number - 1]:
            if self.meet(new, old) and self.waits(old, new.seq):
                left, right = (new, old) if new.is_left else (old, new)
                later = max(left.timestamp, right.timestamp)
                pairs.append((new.number, new.key, left.fingerprint, right.fingerprint, later))
        return pairs


def judged_bounds(graph: JobGraph, operator: Operator) -> tuple[int, int] | None:
    """None: the operator is not judged."""
    lower, upper = operator.params.get("lower_ms"), operator.params.get("upper_ms")
    head = next(o for o in graph.operators if (o.vertex, o.operator) == (operator.vertex, 0))
    if head.params.get("interruptible_timers") is True or operator.input_operator != -1:
        return None
    return (lower, upper) if isinstance(lower, int) and isinstance(upper, int) else None


def joins(facts: Facts, graph: JobGraph, whole: bool) -> Outcome:
    """Law joins: expected and recorded pairs are the same, each right after the record that completes it."""
    found = [operator for operator in graph.operators if operator.kind == "interval_join"]
    judged = [(operator, bounds) for operator in found if (bounds := judged_bounds(graph, operator)) is not None]
    if not judged:
        return not_applicable("joins", "the job has no interval join that this law checks")
    findings = Findings(0)
    for operator, (lower, upper) in judged:
        for task in graph.tasks_of(operator.vertex):
            _judge(facts, findings, Join(lower, upper), task.task, task.inputs, operator.operator, whole)
    names = [operator.name for operator in found if judged_bounds(graph, operator) is None]
    return findings.outcome("joins", f"not checked: {', '.join(names)}" if names else "")


def _judge(facts: Facts, findings: Findings, join: Join, task: int, inputs: int, operator: int, whole: bool) -> None:
    arrived = sorted(row for row in facts.rows("task_watermark") if row[1] == task)
    join.marks += _together(arrived, inputs)
    rows = sorted(row for row in facts.rows("window_intake") if (row[1], row[2]) == (task, operator))
    for number, (seq, _, _, _, _, key, timestamp, fingerprint, recorded, _, side) in enumerate(rows, 1):
        watermark = join.watermark_at(seq)
        if recorded != watermark:
            findings.broken(
                "the recorded watermark is not the watermark of the task", task=task, seq=seq, watermark=recorded
            )
        join.intakes.append(Intake(number, seq, key, timestamp, fingerprint, side == 0, watermark))
    pairs = sorted(row for row in facts.rows("join_pairs") if (row[1], row[2]) == (task, operator))
    actual = [(sum(each.seq < row[0] for each in join.intakes), row[5], row[6], row[7], row[8]) for row in pairs]
    findings.rows_examined += len(rows) + len(pairs)
    last_cause = max([row[0] for row in (*arrived, *rows)], default=-1)
    due = [pair for each in join.intakes if whole or each.seq != last_cause for pair in join.expected(each)]
    perhaps = [pair for each in join.intakes if not whole and each.seq == last_cause for pair in join.expected(each)]
    missing, _ = multiset_difference(due, actual)
    _, unexpected = multiset_difference(due + perhaps, actual)
    for what, wrong in (("missing", missing), ("unexpected", unexpected)):
        for pair in wrong:
            findings.broken(what, task=task, operator=operator, pair=list(pair))


def _together(rows: list[Row], inputs: int) -> list[tuple[int, int]]:
    """The least watermark of the inputs that are not idle, or the highest of all, whenever it exceeds all before."""
    marks, idle, made = [NO_TIMESTAMP] * inputs, [False] * inputs, list[tuple[int, int]]()
    reached = NO_TIMESTAMP
    for seq, _, _, index, kind, value in rows:
        if inputs == 1:
            made += [(seq, value)] if kind == ElementKind.WATERMARK else []
        elif 0 <= index < inputs:
            if kind == ElementKind.WATERMARK:
                marks[index] = max(marks[index], value)
            idle[index] = kind == ElementKind.STATUS and value == IDLE
            active = [mark for mark, is_idle in zip(marks, idle, strict=True) if not is_idle]
            lowest = min(active) if active else max(marks)
            if lowest > reached:
                reached = lowest
                made.append((seq, lowest))
    return made
