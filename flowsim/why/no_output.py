"""``why no-output``: why a sink, an operator, a window or a key has no results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from flowsim.errors import BadInput
from flowsim.facts.kinds import LifeEvent
from flowsim.history.windows import Pane, panes_of, pending, window_operators
from flowsim.laws.job_graph import Operator
from flowsim.laws.windows.plan import window_plan
from flowsim.quantities import count_text
from flowsim.recording.manifest import RunStatus
from flowsim.trace.sentence import window_text
from flowsim.trace.time import event_time, span_text
from flowsim.why.about import About, OperatorAt, about_of, keys_of
from flowsim.why.answer import Cause, WhyAnswer
from flowsim.why.event_time.open_pane import open_pane_causes, pane_text
from flowsim.why.key_calls import why_calls
from flowsim.why.key_results import never_arrived, upstream_vertices, why_key
from flowsim.why.late import why_arrival
from flowsim.why.no_results import missing_key, output_text, results_missing, rows_out, waiting_text
from flowsim.why.restored_state import snapshot_of_another_run, snapshot_text
from flowsim.why.run_facts import RunFacts, place_of

_MOST_LISTED: Final = 6


def why_no_output(facts: RunFacts, words: Sequence[str], tasks: frozenset[int] | None = None) -> WhyAnswer:
    """Explains what has no output; without words the first sink that lacks results. Raises BadInput."""
    about = about_of(facts, words)
    if about.window is not None or about.key:
        answer = _window(facts, about, tasks)
    else:
        answer = _operator(facts, about.operators or _sinks(facts), tasks)
    failed = _failed(facts)
    return WhyAnswer(answer.statement, (*failed, *answer.causes), answer.notes)


def _sinks(facts: RunFacts) -> tuple[OperatorAt, ...]:
    sinks = tuple(OperatorAt(operator) for operator in facts.graph.operators if operator.kind == "sink")
    return sinks or tuple(OperatorAt(operator) for operator in facts.graph.operators if operator.operator == 0)


def _failed(facts: RunFacts) -> list[Cause]:
    """The end of the job, if it did not reach the end of its data."""
    if facts.until_ns is not None:
        return []
    failure, status = facts.recording.manifest.failure, facts.recording.status
    rules = ("4.24", "4.25")
    if status is RunStatus.FAILED and failure is not None:
        row = facts.all_rows("lifecycle").equal(event=LifeEvent.FAILED).first()
        cause = failure.cause.rstrip(".")
        where = f" in {failure.task}" if failure.task else ""
        text = f"The job failed{where}: {cause}. What was open then is lost: failed tasks finish nothing."
        return [Cause(text, rules, None if row is None else place_of(row))]
    row = facts.all_rows("lifecycle").equal(event=LifeEvent.CANCELED).last()
    if status not in (RunStatus.CANCELED, RunStatus.STOPPED) or row is None:
        return []
    is_canceled = status is RunStatus.CANCELED
    # The last tasks may have been canceled by a failure before that.
    what = f"The job was canceled at {facts.moment(row['time_ns'])}" if is_canceled else "The time of the run was up"
    text = f"{what}, before the end of its data: its tasks finished nothing that was open then."
    return [Cause(text, rules, place_of(row))]


def _operator(facts: RunFacts, operators: Sequence[OperatorAt], tasks: frozenset[int] | None) -> WhyAnswer:
    """The first operator without output; if all have output, the first one for which more is open."""
    for one in operators:
        if rows_out(facts, one) == 0:
            return WhyAnswer(output_text(facts, one), tuple(results_missing(facts, one, tasks)))
    missing = [(one, results_missing(facts, one, tasks)) for one in operators]
    chosen, causes = next((pair for pair in missing if pair[1]), missing[0])
    others = [f"{one.name}: {_rows_text(facts, one)}" for one in operators if one is not chosen]
    notes = (f"the other sinks: {', '.join(others)}",) if others else ()
    if not causes:
        notes = ("nothing is open before it: what was read has been processed", *notes)
    return WhyAnswer(output_text(facts, chosen), tuple(causes), notes)


def _rows_text(facts: RunFacts, one: OperatorAt) -> str:
    rows = rows_out(facts, one)
    return "rows not recorded yet" if rows is None else count_text(rows, "row")


def _window(facts: RunFacts, about: About, tasks: frozenset[int] | None) -> WhyAnswer:
    operators = [one.operator for one in about.operators]
    vertices = set(upstream_vertices(facts, operators))
    try:
        keys = keys_of(facts, about.key)
    except BadInput:
        # Records of a stream without keys may have it in a field.
        calls = why_calls(facts, about.key, sorted(vertices, reverse=True), tasks)
        if calls is None:
            raise
        return calls[0]
    found: list[Pane] = []
    everything: list[Pane] = []
    for task, operator, plan in window_operators(facts, tasks):
        if operator.vertex not in vertices:
            continue
        panes = panes_of(facts, task, operator, plan)
        everything += panes
        found += [
            pane for pane in panes if (about.window in (None, pane.window)) and (keys is None or pane.key in keys)
        ]
    unfired = pending(found)
    if unfired:
        pane, again = unfired[0], " again" if unfired[0].fires else ""
        text = (
            f"{pane_text(facts, pane)} has not fired{again} at {facts.operator_in(pane.task, pane.operator.operator)}: "
            f"it has {waiting_text(facts, pane)}."
        )
        statement = Cause(text, ("10.7",), place_of(pane.waiting[-1]))
        notes = _more(facts, unfired[1:])
        return WhyAnswer(statement, tuple(open_pane_causes(facts, pane)), notes)
    fired = [pane for pane in found if pane.fires]
    if fired:
        return _fired(facts, fired)
    late = [pane for pane in found if pane.late]
    if late:
        row = late[0].late[0]
        answer = why_arrival(facts, row)
        count = count_text(len(late[0].late), "record")
        text = f"{pane_text(facts, late[0])} got no record in time: {count} arrived after it had been closed."
        return WhyAnswer(Cause(text, ("10.9",), place_of(row)), (answer.statement, *answer.causes))
    if about.window is None and keys is not None:
        name = facts.names.key(min(keys))
        of_key = why_key(facts, name, keys, operators, tasks)
        if of_key is None and not everything:
            of_key = never_arrived(facts, name, keys, operators, tasks)
        if of_key is not None:
            return of_key
    return _nothing(facts, about, keys, everything)


def _more(facts: RunFacts, panes: Sequence[Pane]) -> tuple[str, ...]:
    if not panes:
        return ()
    shown = ", ".join(pane_text(facts, pane).replace("Window ", "", 1) for pane in panes[:_MOST_LISTED])
    return (
        f"{count_text(len(panes), 'more window')} not fired: {shown}{', ...' if len(panes) > _MOST_LISTED else ''}",
    )


def _fired(facts: RunFacts, panes: list[Pane]) -> WhyAnswer:
    pane = panes[0]
    first, last = pane.fires[0], pane.fires[-1]
    text = (
        f"{pane_text(facts, pane)} has fired at {facts.operator_in(pane.task, pane.operator.operator)}: "
        f"{count_text(len(pane.fires), 'time')}, first at {facts.moment(first['time_ns'])} with "
        f"{count_text(first['rows'], 'record')}, at watermark {event_time(first['watermark'])}."
    )
    causes = (
        []
        if last is first
        else [Cause(f"It fired last with {count_text(last['rows'], 'record')}.", ("10.12",), place_of(last))]
    )
    others = [] if len(panes) == 1 else [f"{count_text(len(panes) - 1, 'other window')} fired as well"]
    return WhyAnswer(Cause(text, ("10.11", "10.13"), place_of(first)), tuple(causes), tuple(others))


def _nothing(facts: RunFacts, about: About, keys: frozenset[int] | None, everything: list[Pane]) -> WhyAnswer:
    """No record arrived for this window and key."""
    what = " of ".join(
        filter(None, (window_text(*about.window) if about.window else "", f"key {about.key}" if about.key else ""))
    )
    if not everything:
        operators = [operator for operator in facts.graph.operators if operator.kind == "window"]
        if not operators:
            raise BadInput(f"{what}: this job has no windows; ask about a sink or an operator")
        one = OperatorAt(operators[0])
        statement = Cause(f"No record has arrived at {one.name}, so {what} does not exist.", ("10.7",))
        statement = _in_snapshot(facts, what, operators) or statement
        return WhyAnswer(statement, tuple(results_missing(facts, one, None)))
    of_key = [pane for pane in everything if keys is None or pane.key in keys]
    texts = list(dict.fromkeys(pane_text(facts, pane).replace("Window ", "", 1) for pane in of_key))
    shown = ", ".join(texts[:_MOST_LISTED]) + (", ..." if len(texts) > _MOST_LISTED else "")
    notes = (f"windows with records: {shown}",) if texts else ()
    text = f"No record of {what} has arrived: a window exists only from its first record on."
    causes = missing_key(facts, keys, everything[0].operator) if keys is not None and not of_key else []
    causes += _not_aligned(facts, about.window, everything)
    statement = _in_snapshot(facts, what, [pane.operator for pane in everything]) or Cause(text, ("10.7",))
    return WhyAnswer(statement, tuple(causes), notes)


def _not_aligned(facts: RunFacts, window: tuple[int, int] | None, panes: Sequence[Pane]) -> list[Cause]:
    """Where the windows of the operators start, if none of them has windows with these bounds (rule 10.1)."""
    of = {(pane.operator.vertex, pane.operator.operator): pane for pane in reversed(panes)}
    plans = [(pane, window_plan(pane.operator)) for pane in reversed(of.values())]
    causes = []
    for pane, plan in plans:
        if window is None or plan is None or plan.merging or plan.shape == "global":
            return []
        start, end = window
        behind = (start - plan.offset_ms) % plan.slide_ms
        if not behind and end - start == plan.size_ms:
            return []
        offset = (
            f", {'plus' if plan.offset_ms > 0 else 'minus'} {span_text(abs(plan.offset_ms))}" if plan.offset_ms else ""
        )
        last = window_text(start - behind, start - behind + plan.size_ms)
        text = (
            f"{pane.operator.name} has no such window: its windows are {span_text(plan.size_ms)} long, and each starts at a "
            f"multiple of {span_text(plan.slide_ms)}{offset}. The last one that starts by then is {last}."
        )
        first = (pane.waiting or pane.late or pane.fires)[0]
        causes.append(Cause(text, ("10.1", "10.3"), place_of(first)))
    return causes


def _in_snapshot(facts: RunFacts, what: str, operators: Sequence[Operator]) -> Cause | None:
    """That a window may be in the state with which one of the operators started; None if none had any."""
    for operator in operators:
        for task in OperatorAt(operator).tasks(facts):
            row = snapshot_of_another_run(facts, task, operator)
            if row is not None:
                text = (
                    f"No record of {what} has arrived in this run. {facts.operator_in(task, operator.operator)} started with "
                    f"{snapshot_text(row)}, and the recording does not show whether that contains it."
                )
                return Cause(text, ("10.7", "12.120"), place_of(row))
    return None
