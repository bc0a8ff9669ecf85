"""What the sinks of a run received, as its recording holds it: numbers of rows, and the first rows."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from flowsim.facts.checkpoint_tables import COMMITTABLES
from flowsim.facts.kinds import CommittableAction, ElementKind
from flowsim.facts.schema import LATE_DROP, OPERATOR_COUNTS, RECEIVED
from flowsim.history.rows import Rows, rows_by_task
from flowsim.laws.job_graph import Operator
from flowsim.quantities import count_text
from flowsim.why.run_facts import RunFacts

MOST_SINKS: Final = 8
MOST_ROWS: Final = 5
_SINK: Final = "Sink: "


def sink_results(facts: RunFacts) -> dict[str, Any]:
    """Returns the first sinks, and in ``left`` how many more the job has.

    Of each sink: ``rows``, their number in words, and ``first``, the first of them as JSON texts: empty if the recording
    does not hold their values, and ``note`` says why.
    """
    sinks = [one for one in facts.graph.operators if one.kind == "sink"]
    return {"sinks": [_result(facts, one) for one in sinks[:MOST_SINKS]], "left": max(0, len(sinks) - MOST_SINKS)}


def _result(facts: RunFacts, sink: Operator) -> dict[str, Any]:
    tasks = [task.task for task in facts.graph.tasks.values() if task.vertex == sink.vertex]
    arrived = _arrived(facts, sink, tasks)
    texts = [] if arrived is None else [facts.names.value(each) for each in arrived["fingerprint"][:MOST_ROWS].tolist()]
    first = [text for text in texts if text]
    note, left = "", len(arrived) - len(first) if first and arrived is not None else 0
    if not first and (arrived is None or len(arrived)):
        needs = "values need --record full" if not facts.is_full else "this report does not hold their values"
        note = f"chained to {_before(facts, sink)}: only counted" if arrived is None else needs
    return {
        "name": sink.name.removeprefix(_SINK),
        "rows": _rows_text(facts, sink, tasks, arrived),
        "first": first,
        "left": left,
        "note": note,
    }


def _rows_text(facts: RunFacts, sink: Operator, tasks: list[int], arrived: Rows | None) -> str:
    """The number of rows; of a sink with a committer, those that were committed."""
    if any(one.vertex == sink.vertex and one.input_operator == sink.operator for one in facts.graph.operators):
        steps = facts.by_task(COMMITTABLES.name)
        rows = sum(int(steps.equal(task=task, action=CommittableAction.COMMITTED)["rows"].sum()) for task in tasks)
        return f"{count_text(rows, 'row')} committed"
    counts = facts.by_task(OPERATOR_COUNTS.name)
    ours = [counts.equal(task=task, operator=sink.operator) for task in tasks]
    if all(map(len, ours)):
        return count_text(sum(int(rows["records_in"].sum()) for rows in ours), "row")
    return "not counted: the run ended before" if arrived is None else count_text(len(arrived), "row")


def _arrived(facts: RunFacts, sink: Operator, tasks: list[int]) -> Rows | None:
    """The facts of the records that reached a sink, by time; None: they crossed no channel, and are not recorded."""
    names = ("seq", "task", "time_ns", "fingerprint")
    if sink.operator == 0:
        rows = rows_by_task(facts.recording, RECEIVED.name, (*names, "kind"))
        rows = rows.where((rows["kind"] == ElementKind.RECORD) & np.isin(rows["task"], tasks))
    elif sink.input_tag:
        rows = rows_by_task(facts.recording, LATE_DROP.name, (*names, "operator", "side_output"))
        of_operator = (rows["side_output"] == 1) & (rows["operator"] == sink.input_operator)
        rows = rows.where(of_operator & np.isin(rows["task"], tasks))
    if sink.operator and not (sink.input_tag and len(rows)):
        return None
    return rows.in_order(np.lexsort((rows["seq"], rows["task"], rows["time_ns"])))


def _before(facts: RunFacts, sink: Operator) -> str:
    return next(
        one.name for one in facts.graph.operators if (one.vertex, one.operator) == (sink.vertex, sink.input_operator)
    )
