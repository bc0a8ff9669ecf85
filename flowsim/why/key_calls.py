"""The async calls for records with a key in their value: in a queue, or answered by a timeout (rules 11.12, 11.17)."""

from __future__ import annotations

import json
from collections.abc import Iterator

from flowsim.facts.kinds import AsyncAction, ElementKind
from flowsim.history.async_elements import is_async
from flowsim.laws.job_graph import Operator
from flowsim.quantities import count_text
from flowsim.trace.sentence import record_text
from flowsim.why.answer import Cause, WhyAnswer
from flowsim.why.run_facts import Row, RunFacts, place_of
from flowsim.why.waits.waits_in_element import entry_text, queue_of, timeout_causes


def why_calls(
    facts: RunFacts, name: str, vertices: list[int], tasks: frozenset[int] | None
) -> tuple[WhyAnswer, bool] | None:
    """What async operators did with records that contain the key, and whether one is still in a queue; None: nothing.

    ``vertices``: where to look, in this order.
    """
    answered = None
    for task, operator in _operators(facts, vertices, tasks):
        at = facts.operator_in(task, operator.operator)
        queue = queue_of(facts, task, operator.operator)
        waiting = [entry for entry in queue if _has(facts, entry.put, name)]
        if waiting:
            count = count_text(len(waiting), "record")
            text = f"{count} with {name} {'is' if len(waiting) == 1 else 'are'} in the queue of {at}: "
            text += f"{entry_text(facts, task, waiting[0])}."
            causes = tuple(timeout_causes(facts, waiting))
            return WhyAnswer(Cause(text, ("11.13",), place_of(waiting[0].put)), causes), True
        answered = answered or _answered_by_timeout(facts, name, task, operator)
    return None if answered is None else (answered, False)


def _operators(facts: RunFacts, vertices: list[int], tasks: frozenset[int] | None) -> Iterator[tuple[int, Operator]]:
    for vertex in vertices:
        for task in facts.graph.tasks_of(vertex):
            for operator in facts.operators_of(task.task) if tasks is None or task.task in tasks else ():
                if is_async(operator):
                    yield task.task, operator


def _answered_by_timeout(facts: RunFacts, name: str, task: int, operator: Operator) -> WhyAnswer | None:
    """The first element with the key whose outcome came from its timeout."""
    rows = facts.rows("async_elements", task).equal(operator=operator.operator)
    puts = {row["entry"]: row for row in rows.equal(action=AsyncAction.PUT) if _has(facts, row, name)}
    for timeout in rows.equal(action=AsyncAction.TIMEOUT):
        put = puts.get(timeout["entry"])
        # An outcome that the function's timeout gives is the next fact.
        done = rows.after(timeout["seq"]).first()
        if put is None or done is None or done["time_ns"] != timeout["time_ns"]:
            continue
        if done["entry"] != timeout["entry"] or done["action"] != AsyncAction.COMPLETE:
            continue
        record = record_text("record", put["timestamp"], facts.names.value(put["fingerprint"]))
        at = facts.operator_in(task, operator.operator)
        result = count_text(done["rows"], "result") if done["rows"] > 0 else "results" if done["rows"] else "no result"
        text = f"The call for {record} timed out at {facts.moment(timeout['time_ns'])} at {at}, which then gave {result} for it."
        ignored = "This first outcome counts: what the call answers after its timeout is ignored, and gives no output."
        causes = (Cause(ignored, ("11.12", "11.17"), place_of(done)),)
        return WhyAnswer(Cause(text, ("11.17",), place_of(timeout)), causes)
    return None


def _has(facts: RunFacts, put: Row, name: str) -> bool:
    """Whether a field of an element's record, or the whole of it, equals a key as JSON or as text."""
    if put["kind"] != ElementKind.RECORD:
        return False
    try:
        value = json.loads(facts.names.value(put["fingerprint"]) or "null")
    except ValueError:
        return False
    fields = value if isinstance(value, list) else [value]
    return any(json.dumps(field, ensure_ascii=False) == name or field == name for field in fields)
