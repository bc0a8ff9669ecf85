"""The order of two records in an async operator: ordered or unordered, completion, and watermarks (section 11)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from flowsim.facts.kinds import ElementKind
from flowsim.history.async_elements import AsyncElement, async_elements, is_async
from flowsim.laws.job_graph import Operator
from flowsim.trace.time import event_time
from flowsim.why.answer import Cause
from flowsim.why.records import Record
from flowsim.why.run_facts import RunFacts, place_of

_T = TypeVar("_T")


def async_orders(facts: RunFacts, a: Record, b: Record, order: Callable[[str, bool, Cause, int], _T]) -> list[_T]:
    """The order of two records in each async operator that has both: as its input, or as its results."""
    found = []
    for task in facts.graph.tasks:
        for operator in facts.operators_of(task):
            if not is_async(operator):
                continue
            elements = async_elements(facts, task, operator.operator)
            one, other = (_of(elements, record) for record in (a, b))
            if one is None or other is None or one == other:
                continue
            emits = elements[one].emitted, elements[other].emitted
            if emits[0] is None or emits[1] is None:
                continue
            is_kept = emits[0]["seq"] < emits[1]["seq"]
            early, late = (one, other) if is_kept else (other, one)
            cause = _cause(facts, operator, elements, early, late)
            name = facts.operator_in(task, operator.operator)
            found.append(order(name, is_kept, cause, min(emits[0]["time_ns"], emits[1]["time_ns"])))
    return found


def _of(elements: dict[int, AsyncElement], record: Record) -> int | None:
    """The element whose record this is; otherwise the one whose only result it is."""
    for rows in ([element.put for element in elements.values()], [element.emitted for element in elements.values()]):
        for number, row in zip(elements, rows, strict=True):
            if row is not None and row["kind"] == ElementKind.RECORD and row["fingerprint"] == record.fingerprint:
                return number
    return None


def _cause(facts: RunFacts, operator: Operator, elements: dict[int, AsyncElement], early: int, late: int) -> Cause:
    """Why the result of element ``early`` left before that of ``late``."""
    one, other = elements[early], elements[late]
    name = operator.name
    lines = tuple(_line(facts, number, elements[number]) for number in sorted((early, late)))
    is_legacy = operator.params.get("design") == "legacy"
    head = f"{name} emitted {_value(facts, one)} before {_value(facts, other)}"
    is_first = one.done is not None and other.done is not None and one.done["seq"] < other.done["seq"]
    is_overtaken = one.done is not None and other.done is not None and not is_first
    place = None if one.emitted is None else place_of(one.emitted)
    if operator.params.get("mode") == "ordered":
        text = f"{head}, in the order of their arrival: mode ordered."
        if is_overtaken:
            text += f" The outcome for {_value(facts, other)} came first, but it waited for the elements before it."
        return Cause(text, ("11.33",) if is_legacy else ("11.5", "11.13"), place, lines)
    between = [
        element.put for number, element in elements.items()
        if early < number < late and element.put["kind"] == ElementKind.WATERMARK
    ]  # fmt: skip
    if between:
        first = f", although the outcome for {_value(facts, other)} came first" if is_overtaken else ""
        text = (
            f"{head}{first}: watermark {event_time(between[0]['timestamp'])} is between them, and no result passes a watermark, "
            "also not in mode unordered."
        )
        return Cause(text, ("11.34",) if is_legacy else ("11.8", "11.11"), place, lines)
    if not is_first:
        # Only in the legacy design: what is done in a set that becomes the first leaves in the order of a hash set.
        text = f"{head}: mode unordered emits in the order of completion, but what was done behind a watermark in any order."
        return Cause(text, ("11.34",), place, lines)
    if early > late:
        text = (
            f"{head}, although it arrived later: mode unordered emits results in the order of completion, and no watermark is "
            "between the two. Both calls were in flight at the same time, also if the records have one key."
        )
        return Cause(text, ("11.34",) if is_legacy else ("11.10", "11.11"), place, lines)
    text = f"{head}: mode unordered emits results in the order of completion, and its outcome came first."
    return Cause(text, ("11.34",) if is_legacy else ("11.10", "11.11"), place, lines)


def _value(facts: RunFacts, element: AsyncElement) -> str:
    row = element.put
    return facts.names.value(row["fingerprint"]) or f"the record of {event_time(row['timestamp'])}"


def _line(facts: RunFacts, number: int, element: AsyncElement) -> str:
    parts = [
        f"{text} {facts.moment(row['time_ns'])}"
        for text, row in (("arrived at", element.put), ("complete at", element.done), ("emitted at", element.emitted))
        if row is not None
    ]
    return f"element {number}, {_value(facts, element)}: {', '.join(parts)}"
