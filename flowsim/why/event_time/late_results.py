"""Why a task emitted a result behind a watermark that it had forwarded: what the result belongs to."""

from __future__ import annotations

import numpy as np

from flowsim.facts.kinds import ElementKind, FireCause, TimeDomain, TimerAction
from flowsim.history.async_elements import is_async
from flowsim.history.rows import last_with
from flowsim.why.alike_causes import AlikeCauses, Chains
from flowsim.why.run_facts import Ints, Mask, Rows, RunFacts
from flowsim.why.sentence import EventTime, Sentence, Window

_OF_TIMER = ("operator", "service", "domain", "key", "timestamp", "window_start", "window_end")
"""Columns of table ``timers`` that identify a timer (rule 9.1)."""


def add_result_causes(chains: Chains, facts: RunFacts, task: int, numbers: Ints, results: Rows) -> Mask:
    """Continues the chains with the firing, timer or record that each result belongs to: the last one before it.

    ``results``: rows of table ``sent``. Returns which results belong to a record that was behind the watermark itself.
    """
    passed: Mask = np.zeros(len(results), dtype=np.bool_)
    if not facts.is_full:
        return passed  # Timers are not recorded.
    fires, timers = facts.rows_with("window_fire", task), facts.rows_with("timers", task, action=TimerAction.FIRE)
    records = facts.rows_with("received", task, kind=ElementKind.RECORD)
    at = [rows["seq"].searchsorted(results["seq"]) - 1 for rows in (fires, timers, records)]
    seqs = np.array([_seqs(rows, of) for rows, of in zip((fires, timers, records), at, strict=True)])
    last = np.where(seqs.max(axis=0) < 0, -1, seqs.argmax(axis=0))
    by_fire, by_timer, by_record = (np.flatnonzero(last == kind) for kind in range(3))
    _add_late_firings(chains, numbers[by_fire], fires.in_order(at[0][by_fire]), results.in_order(by_fire))
    _add_overdue_timers(
        chains, facts, task, numbers[by_timer], timers.in_order(at[1][by_timer]), results.in_order(by_timer)
    )
    if any(is_async(operator) for operator in facts.operators_of(task)):
        return passed  # The last record need not be that of the result.
    passed[by_record] = records["timestamp"][at[2][by_record]] == results["timestamp"][by_record]
    if passed.any():
        text = Sentence(
            "It belongs to a record with the same timestamp, ",
            EventTime(results["timestamp"][passed]),
            ", which was behind the watermark already.",
        )
        chains.add(numbers[passed], AlikeCauses(text, ("8.15",), records.in_order(at[2][passed])))
    return passed


def _seqs(rows: Rows, at: Ints) -> Ints:
    """The sequence numbers of rows; -1 where there is none."""
    return np.where(at >= 0, rows["seq"][np.maximum(at, 0)], -1) if len(rows) else np.full(len(at), -1)


def _add_late_firings(chains: Chains, numbers: Ints, fires: Rows, results: Rows) -> None:
    last_ms = fires["window_end"] - 1
    late = (fires["cause"] == FireCause.ELEMENT) & (fires["watermark"] >= last_ms) & (results["timestamp"] == last_ms)
    if late.any():
        rows = fires.where(late)
        text = Sentence(
            "A record within the allowed lateness fired ",
            Window(rows["window_start"], rows["window_end"]),
            " when the watermark was ",
            EventTime(rows["watermark"]),
            " already. A result has the last millisecond of its window as timestamp, so the operators after it need an "
            "allowed lateness as well.",
        )
        chains.add(numbers[late], AlikeCauses(text, ("10.11", "10.12"), rows))


def _add_overdue_timers(chains: Chains, facts: RunFacts, task: int, numbers: Ints, fired: Rows, results: Rows) -> None:
    of_record = (fired["domain"] == TimeDomain.EVENT_TIME) & (fired["timestamp"] == results["timestamp"])
    numbers, fired = numbers[of_record], fired.where(of_record)
    registered = facts.rows_with("timers", task, action=TimerAction.REGISTER)
    columns = [np.concatenate([registered[name], fired[name]]) for name in _OF_TIMER]
    _, codes = np.unique(columns, axis=1, return_inverse=True)
    codes = codes.reshape(-1)
    at = last_with(codes[: len(registered)], codes[len(registered) :], registered["seq"].searchsorted(fired["seq"]))
    known = np.flatnonzero(at >= 0)
    rows = registered.in_order(at[known])
    overdue = rows["watermark"] >= rows["timestamp"]
    if overdue.any():
        rows, fired = rows.where(overdue), fired.in_order(known[overdue])
        text = Sentence(
            "Event-time timer ",
            EventTime(rows["timestamp"]),
            " was due already when it was registered at ",
            facts.since_start(rows),
            ", at watermark ",
            EventTime(rows["watermark"]),
            ". So it fired only with the next watermark, ",
            EventTime(fired["watermark"]),
            ", and its results have the timestamp of the timer.",
        )
        chains.add(numbers[known[overdue]], AlikeCauses(text, ("9.7", "9.12"), rows))
