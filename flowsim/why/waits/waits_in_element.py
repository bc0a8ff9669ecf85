"""Why a task waits inside an element: the full queue of an async operator, and the end of its input (section 11)."""

from __future__ import annotations

from dataclasses import dataclass

from flowsim.facts.kinds import AsyncAction, ElementKind
from flowsim.laws.job_graph import Operator
from flowsim.laws.windows.plan import number_of
from flowsim.quantities import count_text
from flowsim.trace.sentence import record_text
from flowsim.trace.time import event_time
from flowsim.why.answer import Cause
from flowsim.why.run_facts import Row, RunFacts, place_of
from flowsim.why.waits.task_state import Doing, TaskState

_MOST_LISTED = 8


@dataclass(slots=True)
class Entry:
    """An element in the queue of an async operator. Rows are of table ``async_elements``."""

    put: Row
    invoked: Row | None = None
    done: Row | None = None
    emitted: bool = False


def queue_of(facts: RunFacts, task: int, operator: int) -> list[Entry]:
    """The elements in the queue, in order of their arrival."""
    entries: dict[int, Entry] = {}
    for row in facts.rows("async_elements", task).equal(operator=operator):
        match AsyncAction(row["action"]):
            case AsyncAction.PUT:
                entries[row["entry"]] = Entry(row)
            case AsyncAction.INVOKE if row["entry"] in entries:
                entries[row["entry"]].invoked = row
            case AsyncAction.COMPLETE | AsyncAction.FAIL if row["entry"] in entries:
                entries[row["entry"]].done = row
            case AsyncAction.EMIT if row["entry"] in entries:
                entries[row["entry"]].emitted = True
    return [entry for entry in entries.values() if not entry.emitted]


def entry_text(facts: RunFacts, task: int, entry: Entry) -> str:
    """An element of a queue, and the state of its call."""
    put = entry.put
    if put["kind"] == ElementKind.WATERMARK:
        return (
            f"element {put['entry']}: watermark {event_time(put['timestamp'])}, which waits for the elements before it"
        )
    text = f"element {put['entry']}: {record_text('record', put['timestamp'], facts.names.value(put['fingerprint']))}"
    if entry.done is not None and entry.done["action"] == AsyncAction.FAIL:
        return f"{text}, failed at {facts.moment(entry.done['time_ns'])}"
    if entry.done is not None:
        return f"{text}, complete since {facts.moment(entry.done['time_ns'])}"
    if entry.invoked is None:
        return f"{text}, not asked yet"
    later = facts.whole.rows("async_elements", task).equal(operator=put["operator"], entry=put["entry"])
    done = later.equal(action=AsyncAction.COMPLETE).first()
    until = "no result in the recording" if done is None else f"result at {facts.moment(done['time_ns'])}"
    again = f" (call {entry.invoked['attempt']})" if entry.invoked["attempt"] > 1 else ""
    return f"{text}, called at {facts.moment(entry.invoked['time_ns'])}{again}, {until}"


def open_call_causes(facts: RunFacts, task: int) -> list[Cause]:
    """The elements in the queues of a task that waits for input: a result is a mail, which it runs as soon as it comes."""
    causes = []
    for operator in facts.operators_of(task):
        entries = queue_of(facts, task, operator.operator) if is_async(operator) else []
        if entries:
            text = f"{operator.name} has {count_text(len(entries), 'element')} in its queue; the task runs each result as a mail."
            causes.append(Cause(text, ("11.4", "11.13"), place_of(entries[0].put), _lines(facts, task, entries)))
    return causes


def is_async(operator: Operator) -> bool:
    return operator.kind == "async_wait"


def element_causes(facts: RunFacts, state: TaskState) -> list[Cause]:
    """The causes of a yield, or of a wait for the checkpoint lock."""
    for operator in reversed(facts.operators_of(state.task)):
        if is_async(operator):
            entries = queue_of(facts, state.task, operator.operator)
            capacity = number_of(operator.params, "capacity")
            if len(entries) >= capacity > 0:
                return _full_queue(facts, state, operator, entries, capacity)
            if entries:
                return [_end_of_input(facts, state, operator, entries)]
    return []


def _full_queue(
    facts: RunFacts, state: TaskState, operator: Operator, entries: list[Entry], capacity: int
) -> list[Cause]:
    name, ordered = operator.name, operator.params.get("mode") == "ordered"
    text = (
        f"The queue of {name} is full: it holds {len(entries):,} of at most {count_text(capacity, 'element')}. "
        f"The next element of the task waits for a place inside the call of {name}, so the task reads no input."
    )
    rules = ("11.1", "3.21") if state.doing is Doing.YIELD else ("11.31",)
    place = None if state.since is None else place_of(state.since)
    causes = [Cause(text, rules, place, _lines(facts, state.task, entries))]
    blocking, is_legacy = entries[0], state.doing is Doing.LOCK
    if ordered:
        text = f"{name} emits results in the order of the records: only the first element can make a place."
        rules = ("11.33", "11.32") if is_legacy else ("11.5", "11.13")
    else:
        blocking = next((one for one in entries if one.done is None and one.invoked is not None), blocking)
        text = f"{name} emits results in the order of completion, up to the next watermark: the first result makes a place."
        rules = ("11.34", "11.32") if is_legacy else ("11.10", "11.13")
    text += f" It waits for {entry_text(facts, state.task, blocking)}."
    causes.append(Cause(text, rules, place_of(blocking.invoked or blocking.put)))
    if state.doing is Doing.YIELD:
        text = (
            f"Meanwhile the task runs mails of priority {state.priority} or above, such as results of {name}. Mails of lower "
            "priority wait: those of the task, such as the trigger of a checkpoint, and timers of the operators before it. The "
            "calls run outside the task's thread; the thread itself calls the function, one record after the other."
        )
        causes.append(Cause(text, ("3.21", "3.25", "11.12"), place))
    return causes


def _end_of_input(facts: RunFacts, state: TaskState, operator: Operator, entries: list[Entry]) -> Cause:
    text = f"The input of {operator.name} has ended: the task waits until the results of its queue are emitted."
    place = None if state.since is None else place_of(state.since)
    return Cause(text, ("11.19",), place, _lines(facts, state.task, entries))


def _lines(facts: RunFacts, task: int, entries: list[Entry]) -> tuple[str, ...]:
    lines = [entry_text(facts, task, entry) for entry in entries[:_MOST_LISTED]]
    return (*lines, f"and {len(entries) - _MOST_LISTED:,} more") if len(entries) > _MOST_LISTED else tuple(lines)
