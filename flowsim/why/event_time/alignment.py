"""Why watermark alignment pauses a source: the group, and the source that is behind (rules 8.22, 8.23)."""

from __future__ import annotations

from collections.abc import Iterator

from flowsim.facts.kinds import ElementKind
from flowsim.laws.job_graph import Operator
from flowsim.trace.time import event_time, span_text
from flowsim.why.answer import Cause
from flowsim.why.event_time.generators import strategy_of
from flowsim.why.run_facts import Row, RunFacts, place_of


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
        f"Watermark alignment has paused {facts.operator_in(task, row['operator'])} since {facts.moment(row['time_ns'])}: its "
        f"watermark was {event_time(row['watermark'])}, above the limit of {event_time(row['limit'])}."
    )
    causes = [Cause(text, ("8.22", "8.23"), place_of(row))]
    others = [(mark["timestamp"], of, mark) for of, one in _group(facts, group) if (mark := _watermark(facts, of, one))]
    behind = min((one for one in others if one[1] != task), key=lambda one: one[:2], default=None)
    if behind is not None:
        text = (
            f"The limit is the lowest watermark of group {group!r} plus the allowed drift of {span_text(drift)}. The lowest "
            f"watermark is that of {facts.task(behind[1])}: {event_time(behind[0])}. The source continues when the group has "
            "advanced; while it waits, its idle timeout does not run."
        )
        causes.append(Cause(text, ("8.4", "8.22"), place_of(behind[2])))
    return causes


def _group(facts: RunFacts, group: object) -> Iterator[tuple[int, Operator]]:
    for operator in facts.graph.operators:
        if (strategy_of(operator) or {}).get("group") == group and operator.kind == "source":
            for task in facts.graph.tasks_of(operator.vertex):
                yield task.task, operator


def _watermark(facts: RunFacts, task: int, operator: Operator) -> Row | None:
    rows = facts.rows("generated_watermark", task)
    return rows.equal(operator=operator.operator, split=-1, kind=ElementKind.WATERMARK).last()
