"""The call of an operator with keys that changed a timer or a state: a record, or the callback of a timer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flowsim.facts.kinds import ElementKind, TimeDomain, TimerAction
from flowsim.history.timers import TimerLife, TimerName, timer_name
from flowsim.trace.sentence import record_text, window_text
from flowsim.trace.time import event_time
from flowsim.why.run_facts import Row, RunFacts

_CALLS = (ElementKind.RECORD, ElementKind.WATERMARK, ElementKind.END_OF_DATA)


@dataclass(frozen=True, slots=True)
class Call:
    """What the task processed. ``row``: of table ``received``, or of ``timers`` for the callback of a timer."""

    text: str
    row: Row
    is_timer: bool


def call_of(facts: RunFacts, row: Row, table: str) -> Call | None:
    """The call in which a task recorded a fact of ``table``; None if there is none before it in its attempt.

    Only the head of a chain has keys, so the call is the last record that the task received, or the last timer that
    fired after it.
    """
    facts = facts.in_attempt_of(row, table)
    received = facts.rows("received", row["task"]).before(row["seq"])
    received = received.where(np.isin(received["kind"], _CALLS))
    element = received.last()
    fired = facts.rows("timers", row["task"]).before(row["seq"]).equal(action=TimerAction.FIRE).last()
    if fired is not None and (element is None or element["seq"] < fired["seq"]):
        return Call(f"the callback of {timer_text(facts, timer_name(fired))}", fired, is_timer=True)
    if element is None or element["kind"] != ElementKind.RECORD:
        return None
    value = facts.names.value(element["fingerprint"])
    return Call(record_text("record", element["timestamp"], value), element, is_timer=False)


def is_same_call(facts: RunFacts, row: Row, other: Row, table: str) -> bool:
    """Whether a task recorded two facts of ``table`` in one call."""
    one, two = call_of(facts, row, table), call_of(facts, other, table)
    return one is not None and two is not None and one.row["seq"] == two.row["seq"]


def timer_text(facts: RunFacts, name: TimerName) -> str:
    """A timer with its time, window and key, without its operator."""
    domain, timestamp, key, start, end, _ = name
    of_time = "event-time" if domain == TimeDomain.EVENT_TIME else "processing-time"
    of_window = f" of {window_text(start, end)}" if start < end else ""
    return f"{of_time} timer {event_time(timestamp)}{of_window}{facts.of_key(key)}"


def life_text(facts: RunFacts, life: TimerLife) -> str:
    """A timer with its time, window, key and operator."""
    return f"{timer_text(facts, life.name)} at {facts.operator_in(life.task, life.operator.operator)}"
