"""Why watermark alignment pauses a source: the group, and the source that is behind (rules 8.22, 8.23)."""

from __future__ import annotations

from collections.abc import Iterator

from flowsim.facts.kinds import ElementKind
from flowsim.history.watermark_strategies import strategy_of
from flowsim.laws.job_graph import Operator
from flowsim.trace.time import event_time, span_text
from flowsim.units import NO_TIMESTAMP
from flowsim.why.answer import Cause
from flowsim.why.restarts import before_end
from flowsim.why.run_facts import Row, Rows, RunFacts, place_of
from flowsim.why.sentence import watermark_text


def paused_row(facts: RunFacts, task: int) -> Row | None:
    """The fact that paused a source, if it is paused at the moment."""
    last = facts.rows("alignment", task).equal(split=-1).last()
    return last if last is not None and last["paused"] else None


def alignment_causes(facts: RunFacts, task: int, row: Row) -> list[Cause]:
    """Why the source is paused, and which sources of its group are behind."""
    operator = facts.operator(task, row["operator"])
    group = None if operator is None else (strategy_of(operator) or {}).get("group")
    drift = 0 if operator is None else int(str((strategy_of(operator) or {}).get("max_drift_ms", 0)))
    text = (
        f"Watermark alignment has paused {facts.operator_in(task, row['operator'])} since {facts.moment(row['time_ns'])}: the "
        f"watermark that it compared was {event_time(row['watermark'])}, above the limit of {event_time(row['limit'])}."
    )
    causes = [Cause(text, ("8.22", "8.23"), place_of(row))]
    lowest = row["limit"] - drift
    whole = facts.whole.rows("alignment", task).after(row["seq"])
    resumed = whole.equal(operator=row["operator"], split=-1, paused=0).first()
    when = (
        f"the recording does not show that it continues{before_end(facts, task)}"
        if resumed is None
        else f"it continues at {facts.moment(resumed['time_ns'])}"
    )
    text = (
        f"That limit was the lowest watermark reported in group {group!r}, {event_time(lowest)}, plus the allowed drift of "
        f"{span_text(drift)}"
    )
    place = None
    for of, one in _group(facts, group):
        mark = _watermarks(facts, of, one).equal(timestamp=lowest).first()
        if mark is not None and mark["time_ns"] <= row["time_ns"]:
            text += f". {facts.task(of)} had this watermark since {facts.moment(mark['time_ns'])}"
            place = place_of(mark)
            break
    lines = tuple(
        f"{facts.task(of)}: {watermark_text(NO_TIMESTAMP if last is None else last['timestamp'])}"
        for of, one in _group(facts, group)
        for last in [_watermarks(facts, of, one).last()]
    )
    text += f". While a source waits for its group, its idle timeout does not run; {when}."
    return [*causes, Cause(text, ("8.4", "8.22", "8.23"), place or place_of(row), lines)]


def _group(facts: RunFacts, group: object) -> Iterator[tuple[int, Operator]]:
    for operator in facts.graph.operators:
        if (strategy_of(operator) or {}).get("group") == group and operator.kind == "source":
            for task in facts.graph.tasks_of(operator.vertex):
                yield task.task, operator


def _watermarks(facts: RunFacts, task: int, operator: Operator) -> Rows:
    rows = facts.rows("generated_watermark", task)
    return rows.equal(operator=operator.operator, split=-1, kind=ElementKind.WATERMARK)
