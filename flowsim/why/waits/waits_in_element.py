"""Why a task waits inside an element: the full queue of an async operator, and the end of its input (section 11)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import Final

import numpy as np

from flowsim.facts.kinds import AsyncAction, ElementKind, LifeEvent
from flowsim.history.async_elements import AsyncElement, async_elements, is_async
from flowsim.history.task_states import Doing, TaskState
from flowsim.laws.job_graph import Operator
from flowsim.laws.windows.plan import number_of
from flowsim.quantities import count_text
from flowsim.trace.sentence import record_text
from flowsim.trace.time import event_time
from flowsim.why.answer import Cause
from flowsim.why.restarts import before_end
from flowsim.why.run_facts import Row, RunFacts, place_of

_MOST_LISTED: Final = 8
_NEVER: Final = 2**63 - 1


def queue_of(facts: RunFacts, task: int, operator: int) -> list[AsyncElement]:
    """The elements in the queue, in order of their arrival."""
    return [one for one in async_elements(facts, task, operator).values() if one.emitted is None]


def entry_text(facts: RunFacts, task: int, entry: AsyncElement) -> str:
    """An element of a queue, and the state of its call."""
    put = entry.put
    if put["kind"] == ElementKind.WATERMARK:
        return f"element {put['entry']}: watermark {event_time(put['timestamp'])}, which no element behind it passes"
    text = f"element {put['entry']}: {record_text('record', put['timestamp'], facts.names.value(put['fingerprint']))}"
    if entry.done is not None and entry.done["action"] == AsyncAction.FAIL:
        return f"{text}, failed at {facts.moment(entry.done['time_ns'])}"
    if entry.done is not None:
        return f"{text}, complete since {facts.moment(entry.done['time_ns'])}"
    if entry.invoked is None:
        return f"{text}, not asked yet"
    again = f" (call {entry.invoked['attempt']})" if entry.invoked["attempt"] > 1 else ""
    text += f", called at {facts.moment(entry.invoked['time_ns'])}{again}"
    if entry.retried is not None and entry.retried["seq"] > entry.invoked["seq"]:
        text += f", to be called again since {facts.moment(entry.retried['time_ns'])}"
    if entry.timed_out is not None:
        text += f", timed out at {facts.moment(entry.timed_out['time_ns'])} without an outcome"
    later = _outcome(facts, task, entry)
    if later is None:
        return f"{text}, no result in the recording{before_end(facts, task)}"
    return f"{text}, {_OUTCOMES[AsyncAction(later['action'])]} at {facts.moment(later['time_ns'])}"


_OUTCOMES: Final = {AsyncAction.COMPLETE: "result", AsyncAction.FAIL: "error", AsyncAction.TIMEOUT: "timeout"}


def _outcome(facts: RunFacts, task: int, entry: AsyncElement) -> Row | None:
    """What ends the wait for an element after the moment: its outcome, or its timeout if that comes before."""
    rows = facts.whole.rows("async_elements", task)
    known = [row["seq"] for row in (entry.put, entry.invoked, entry.retried, entry.timed_out) if row is not None]
    rows = rows.equal(operator=entry.put["operator"], entry=entry.put["entry"]).after(max(known))
    return rows.where(np.isin(rows["action"], list(_OUTCOMES))).first()


def timeout_causes(facts: RunFacts, entries: Sequence[AsyncElement]) -> list[Cause]:
    """The elements whose timeout has passed without an outcome: nothing but a later result ends their wait."""
    late = [entry for entry in entries if entry.timed_out is not None and entry.done is None]
    if not late or late[0].timed_out is None:
        return []
    row = late[0].timed_out
    name = facts.names.operator(row["task"], row["operator"])
    text = (
        f"The timeout of {count_text(len(late), 'element')} of {name} has passed, the first one at "
        f"{facts.moment(row['time_ns'])}, and the function's timeout gave no outcome that counts. No second timeout follows: "
        "only a result, or an error, ends the wait."
    )
    return [Cause(text, ("11.17", "11.12"), place_of(row))]


def open_call_causes(facts: RunFacts, task: int) -> list[Cause]:
    """The elements in the queues of a task that waits for input."""
    causes = []
    for operator in facts.operators_of(task):
        entries = queue_of(facts, task, operator.operator) if is_async(operator) else []
        if entries:
            count = count_text(len(entries), "element")
            is_legacy = _is_legacy(operator)
            how = "its emitter emits each result" if is_legacy else "the task runs each result as a mail"
            rules = ("11.32",) if is_legacy else ("11.4", "11.13")
            text = f"{operator.name} has {count} in its queue; {how}."
            causes.append(Cause(text, rules, place_of(entries[0].put), _lines(facts, task, entries)))
            causes += timeout_causes(facts, entries)
    return causes


def _is_legacy(operator: Operator) -> bool:
    return operator.params.get("design") == "legacy"


def _priority(facts: RunFacts, task: int, operator: Operator) -> int:
    """The priority of an operator's mails: 1 for the head of a chain (rules 1.11, 3.8)."""
    depth, before = 1, operator
    while before.input_operator >= 0:
        found = facts.operator(task, before.input_operator)
        if found is None:
            break
        depth, before = depth + 1, found
    return depth


def element_causes(facts: RunFacts, state: TaskState) -> list[Cause]:
    """The causes of a yield, or of a wait for the checkpoint lock."""
    found: list[tuple[bool, Operator, list[AsyncElement]]] = []
    for operator in facts.operators_of(state.task):
        is_candidate = _is_legacy(operator) is (state.doing is Doing.LOCK)
        if state.doing is Doing.YIELD:
            is_candidate = is_candidate and _priority(facts, state.task, operator) == state.priority
        if is_async(operator) and is_candidate:
            entries = queue_of(facts, state.task, operator.operator)
            found.append((_has_ended(facts, state.task, operator), operator, entries))
    for has_ended, operator, entries in found:
        if len(entries) >= number_of(operator.params, "capacity") > 0 and not has_ended:
            return [*_full_queue(facts, state, operator, entries), *timeout_causes(facts, entries)]
    for has_ended, operator, entries in found:
        if has_ended and entries:
            return [_end_of_input(facts, state, operator, entries), *timeout_causes(facts, entries)]
    return []


def _has_ended(facts: RunFacts, task: int, operator: Operator) -> bool:
    """Whether the input of an operator has ended, after which it waits for its results (rules 4.12, 11.19)."""
    life = facts.rows("lifecycle", task)
    if operator.input_operator >= 0:
        return len(life.equal(operator=operator.input_operator, event=LifeEvent.FINISH)) > 0
    ends = facts.rows("received", task).equal(kind=ElementKind.END_OF_DATA)
    return len(np.unique(ends["channel"])) == len(facts.received_by(task))


def _full_queue(facts: RunFacts, state: TaskState, operator: Operator, entries: list[AsyncElement]) -> list[Cause]:
    name, ordered = operator.name, operator.params.get("mode") == "ordered"
    capacity = count_text(number_of(operator.params, "capacity"), "element")
    is_open = len(facts.rows("lifecycle", state.task).equal(operator=operator.operator, event=LifeEvent.OPEN)) > 0
    text = f"The queue of {name} is full: it holds {len(entries):,} of at most {capacity}. " + (
        f"The next element of the task waits for a place inside the call of {name}, so the task reads no input."
        if is_open
        else "The next element that is restored waits for a place, so the task is not RUNNING yet."
    )
    rules = ("11.1", "3.21") if state.doing is Doing.YIELD else ("11.31",)
    place = None if state.since is None else place_of(state.since)
    causes = [Cause(text, rules if is_open else (*rules, "11.22"), place, _lines(facts, state.task, entries))]
    is_legacy = state.doing is Doing.LOCK
    if ordered:
        blocking = entries[0]
        text = f"{name} emits results in the order of the records: only the first element can make a place."
        rules = ("11.33", "11.32") if is_legacy else ("11.5", "11.13")
    else:
        blocking = _first_to_leave(facts, state.task, entries)
        text = f"{name} emits results in the order of completion, up to the next watermark: the first result makes a place."
        rules = ("11.34", "11.32") if is_legacy else ("11.10", "11.13")
    text += f" The next one is {entry_text(facts, state.task, blocking)}."
    causes.append(Cause(text, rules, place_of(blocking.invoked or blocking.put)))
    if state.doing is Doing.YIELD:
        text = (
            f"Meanwhile the task runs mails of priority {state.priority} or above, such as results of {name}. Mails of lower "
            "priority wait: those of the task, such as the trigger of a checkpoint, and timers of the operators before it. The "
            "calls run outside the task's thread; the thread itself calls the function, one record after the other."
        )
        causes.append(Cause(text, ("3.21", "3.25", "11.12"), place))
    return causes


def _first_to_leave(facts: RunFacts, task: int, entries: list[AsyncElement]) -> AsyncElement:
    """The element of an unordered queue that leaves it next, as the recording shows; the first open call if none does."""
    if entries[0].put["kind"] == ElementKind.WATERMARK:
        return entries[0]
    segment = list(takewhile(lambda entry: entry.put["kind"] == ElementKind.RECORD, entries))
    emits = facts.whole.rows("async_elements", task).equal(operator=entries[0].put["operator"], action=AsyncAction.EMIT)
    left = {row["entry"]: row["seq"] for row in emits}
    return min(segment, key=lambda entry: left.get(entry.put["entry"], _NEVER))


def _end_of_input(facts: RunFacts, state: TaskState, operator: Operator, entries: list[AsyncElement]) -> Cause:
    text = f"The input of {operator.name} has ended: the task waits until the results of its queue are emitted."
    place = None if state.since is None else place_of(state.since)
    rule = "11.36" if _is_legacy(operator) else "11.19"
    return Cause(text, (rule,), place, _lines(facts, state.task, entries))


def _lines(facts: RunFacts, task: int, entries: list[AsyncElement]) -> tuple[str, ...]:
    lines = [entry_text(facts, task, entry) for entry in entries[:_MOST_LISTED]]
    return (*lines, f"and {len(entries) - _MOST_LISTED:,} more") if len(entries) > _MOST_LISTED else tuple(lines)
