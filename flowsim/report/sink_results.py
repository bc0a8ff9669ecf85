"""What the sinks of a run received, from its manifest and its facts: numbers of rows, and the first rows."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from flowsim.facts.checkpoint_tables import COMMITTABLES
from flowsim.facts.kinds import AsyncAction, CommittableAction, ElementKind
from flowsim.facts.schema import ASYNC_ELEMENTS, LATE_DROP, OPERATOR_COUNTS, RECEIVED, WINDOW_FIRE
from flowsim.history.async_elements import is_async
from flowsim.history.rows import Rows, rows_by_task
from flowsim.history.windows import fires_of
from flowsim.laws.job_graph import Operator
from flowsim.laws.windows.plan import window_plan
from flowsim.quantities import count_text
from flowsim.report.look_at import window_bounds
from flowsim.why.run_facts import RunFacts

MOST_SINKS: Final = 8
MOST_ROWS: Final = 5
_SINK: Final = "Sink: "
_BY_VALUE: Final = ("seq", "task", "time_ns", "fingerprint")


class _FirstRows(NamedTuple):
    """``total``: how many there are; None: as many as the sink counts. ``note``: what they are, or why there are none."""

    texts: list[str]
    total: int | None
    note: str = ""


def sink_results(facts: RunFacts) -> dict[str, Any]:
    """Returns the first sinks, and in ``left`` how many more the job has.

    Of each sink: ``rows``, their number in words, ``first``, the first of them as texts, ``left``, how many more there are,
    and ``note``: what the texts are, or why there are none.
    """
    sinks = [one for one in facts.graph.operators if one.kind == "sink"]
    return {"sinks": [_result(facts, one) for one in sinks[:MOST_SINKS]], "left": max(0, len(sinks) - MOST_SINKS)}


def _result(facts: RunFacts, sink: Operator) -> dict[str, Any]:
    tasks = [task.task for task in facts.graph.tasks.values() if task.vertex == sink.vertex]
    name = sink.name.removeprefix(_SINK)
    recorded = _first_rows(facts, sink, tasks)
    kept = facts.recording.manifest.results.get(name)
    first = recorded if kept is None else _FirstRows(list(kept.first), kept.rows)
    return {
        "name": name,
        "rows": _rows_text(facts, sink, tasks, recorded.total),
        "first": first.texts,
        "left": max(0, (first.total or 0) - len(first.texts)) if first.texts else 0,
        "note": first.note,
    }


def _rows_text(facts: RunFacts, sink: Operator, tasks: list[int], arrived: int | None) -> str:
    """The number of rows; of a sink with a committer, those that were committed."""
    if any(one.vertex == sink.vertex and one.kind == "committer" for one in facts.graph.operators):
        steps = facts.by_task(COMMITTABLES.name)
        committed = steps.equal(action=CommittableAction.COMMITTED)["committable"]
        prepared = steps.equal(action=CommittableAction.PREPARED, operator=sink.operator)
        ours = prepared.where(np.isin(prepared["task"], tasks) & np.isin(prepared["committable"], committed))
        received = "" if arrived is None else f", {arrived:,} received"
        return f"{count_text(int(ours['rows'].sum()), 'row')} committed{received}"
    counts = facts.by_task(OPERATOR_COUNTS.name)
    of_tasks = [counts.equal(task=task, operator=sink.operator) for task in tasks]
    if all(map(len, of_tasks)):
        return count_text(sum(int(rows["records_in"].sum()) for rows in of_tasks), "row")
    return "not counted: the run ended before" if arrived is None else count_text(arrived, "row")


def _first_rows(facts: RunFacts, sink: Operator, tasks: list[int]) -> _FirstRows:
    """The records that crossed a channel to the sink, or what is recorded of the operator to which it is chained."""
    if sink.operator == 0:
        rows = rows_by_task(facts.recording, RECEIVED.name, (*_BY_VALUE, "kind"))
        return _values(facts, rows.where((rows["kind"] == ElementKind.RECORD) & np.isin(rows["task"], tasks)))
    before = next(
        one for one in facts.graph.operators if (one.vertex, one.operator) == (sink.vertex, sink.input_operator)
    )
    if sink.input_tag:
        rows = rows_by_task(facts.recording, LATE_DROP.name, (*_BY_VALUE, "operator", "side_output"))
        late = rows.where(
            (rows["side_output"] == 1) & (rows["operator"] == before.operator) & np.isin(rows["task"], tasks)
        )
        if len(late):
            return _values(facts, late)
    elif is_async(before):
        rows = rows_by_task(facts.recording, ASYNC_ELEMENTS.name, (*_BY_VALUE, "operator", "action", "kind", "rows"))
        emitted = (rows["action"] == AsyncAction.EMIT) & (rows["kind"] == ElementKind.RECORD) & (rows["rows"] == 1)
        return _values(
            facts, rows.where(emitted & (rows["operator"] == before.operator) & np.isin(rows["task"], tasks))
        )
    elif window_plan(before) is not None:
        fires = fires_of(facts.by_task(WINDOW_FIRE.name))
        return _fires(
            facts, before, fires.where((fires["operator"] == before.operator) & np.isin(fires["task"], tasks))
        )
    return _FirstRows([], None, f"chained to {before.name}: only counted")


def _values(facts: RunFacts, rows: Rows) -> _FirstRows:
    texts = [facts.names.value(each) for each in _by_time(rows)["fingerprint"][:MOST_ROWS].tolist()]
    known = [text for text in texts if text]
    needs = "values need --record full" if not facts.is_full else "their values were not recorded"
    return _FirstRows(known, len(rows), "" if known or not len(rows) else needs)


def _fires(facts: RunFacts, before: Operator, rows: Rows) -> _FirstRows:
    texts = [
        f"{window_bounds(row, 'window')}{facts.of_key(row['key'])}: {count_text(row['rows'], 'record')}"
        for row, _ in zip(_by_time(rows), range(MOST_ROWS), strict=False)
    ]
    note = f"the windows that {before.name} fired: the rows themselves cross no channel"
    return _FirstRows(texts, len(rows), note if texts else "no window fired")


def _by_time(rows: Rows) -> Rows:
    return rows.in_order(np.lexsort((rows["seq"], rows["task"], rows["time_ns"])))
