"""The chains of late records: that they are late, the rule, the watermark of their task, and how it came to be ahead.

Chains are computed for many late records at once, by columns: what alike ones share is computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from flowsim.history.lateness import arrivals_of, is_interval_join
from flowsim.history.rows import alike
from flowsim.history.task_watermark import watermark_columns
from flowsim.history.valve import channel_history
from flowsim.history.windows import cleanups_of, newest_windows
from flowsim.laws.job_graph import Operator
from flowsim.laws.windows.plan import number_of, window_plan
from flowsim.quantities import count_text
from flowsim.trace.time import span_text
from flowsim.units import NO_TIMESTAMP
from flowsim.why.alike_causes import AlikeCauses, Chains
from flowsim.why.event_time.channel_texts import kinds_of_states, states_text
from flowsim.why.event_time.overtaken import Behind, add_overtaking_causes
from flowsim.why.restarts import attempt_text
from flowsim.why.run_facts import Ints, Mask, Row, Rows, RunFacts
from flowsim.why.sentence import EventTime, KeyValue, Part, RecordValue, Sentence, Window

_MOST_WINDOWS_LISTED = 6


def late_chains(facts: RunFacts, drops: Rows) -> Chains:
    """The chain of each late record. ``drops``: rows of table ``late_drop``."""
    chains = Chains(len(drops))
    for of_attempt, numbers in by_attempt(facts, drops, "late_drop"):
        _add_late(chains, numbers, of_attempt, drops.in_order(numbers))
    return chains


def by_attempt(facts: RunFacts, rows: Rows, table: str) -> Iterator[tuple[RunFacts, Ints]]:
    """The rows of each operator in one attempt of its task, with the facts of the attempts at their time."""
    restarts = np.array(sorted({one.time_ns for one in facts.graph.history.restarts}), dtype=np.int64)
    since, before = (restarts.searchsorted(rows["time_ns"], side=side) for side in ("right", "left"))
    for numbers in alike(rows["task"], rows["operator"], facts.attempts_of(rows, table), since, before):
        yield facts.in_attempt_of(rows.row(int(numbers[0])), table), numbers


def _add_late(chains: Chains, numbers: Ints, facts: RunFacts, drops: Rows) -> None:
    """``drops``: late records of one operator in one attempt."""
    task, operator = drops.row(0)["task"], facts.operator(drops.row(0)["task"], drops.row(0)["operator"])
    name = facts.operator_in(task, drops.row(0)["operator"])
    for which in alike(drops["side_output"] != 0, *kinds_of_records(facts, drops)):
        part = drops.in_order(which)
        fate = "goes to the late side output" if part.row(0)["side_output"] else "is dropped and only counted"
        text = Sentence(described(facts, part), f" is late at {name}{attempt_text(facts, task)}: it {fate}.")
        chains.add(numbers[which], AlikeCauses(text, (lateness_rule(operator, "10.10"),), part))
    limits = _add_rules(chains, numbers, facts, operator, drops)
    _add_watermarks(chains, numbers, facts, name, drops)
    add_overtaking_causes(chains, facts, task, Behind(numbers, drops["seq"], limits))


def lateness_rule(operator: Operator | None, of_windows: str) -> str:
    """The rule about lateness: interval joins have their own."""
    return "10.35" if is_interval_join(operator) else of_windows


def kinds_of_records(facts: RunFacts, rows: Rows) -> list[Mask]:
    """What decides on the words of ``described``."""
    names = facts.names
    has_value = _of_each(rows["fingerprint"], names.has_value)
    has_key = _of_each(rows["key"], lambda key: bool(names.key(key)))
    return [has_value, rows["timestamp"] != NO_TIMESTAMP, has_key]


def _of_each(values: Ints, of: Callable[[int], bool]) -> Mask:
    unique, at = np.unique(values, return_inverse=True)
    return np.array([of(value) for value in unique.tolist()], dtype=np.bool_)[at]


def described(facts: RunFacts, rows: Row | Rows) -> Sentence:
    """The record of a fact with its key; of several facts, if their records are of one kind."""
    names, first = facts.names, rows.row(0) if isinstance(rows, Rows) else rows
    value: list[Part] = ["a Record"]
    if names.has_value(first["fingerprint"]):
        value = ["Record ", RecordValue(rows["fingerprint"], names)]
    if first["timestamp"] != NO_TIMESTAMP:
        value += [" (timestamp ", EventTime(rows["timestamp"]), ")"]
    if names.key(first["key"]):
        value += [", key ", KeyValue(rows["key"], names), ","]
    return Sentence(*value)


def _add_rules(chains: Chains, numbers: Ints, facts: RunFacts, operator: Operator | None, drops: Rows) -> Ints:
    """The rule that makes each record late; returns the watermarks from which on they are late."""
    arrived = facts.rows_with("window_intake", drops.row(0)["task"], operator=drops.row(0)["operator"])
    at, limits = arrivals_of(arrived, drops), drops["timestamp"].copy()
    for which in alike(at >= 0):
        part, is_recorded = drops.in_order(which), at[which[0]] >= 0
        # Without a row of its arrival, a record is shown by the fact that it is late.
        intakes = arrived.in_order(at[which]) if is_recorded else part
        gaps = intakes["gap"] if is_recorded else np.zeros(len(part), dtype=np.int64)
        limits[which] = _add_rule(chains, numbers[which], operator, part, intakes, gaps)
    return limits


def _add_rule(chains: Chains, numbers: Ints, operator: Operator | None, drops: Rows, intakes: Rows, gaps: Ints) -> Ints:
    watermarks, timestamps = drops["watermark"], drops["timestamp"]
    if is_interval_join(operator):
        below = "An interval join does not use a record below the watermark, which is "
        chains.add(numbers, AlikeCauses(Sentence(below, EventTime(watermarks), "."), ("10.35",), intakes))
        return timestamps + 1
    lateness = number_of(operator.params, "lateness_ms") if operator is not None else 0
    limits, plan = timestamps + lateness, None if operator is None else window_plan(operator)
    counts, starts, ends = np.zeros(len(drops), dtype=np.int64), timestamps, timestamps
    if plan is not None:
        counts, starts, ends = newest_windows(plan, intakes["timestamp"], intakes["time_ns"], gaps)
    for which in alike(counts):
        shown_by, watermark, count = intakes.in_order(which), EventTime(watermarks[which]), int(counts[which[0]])
        if plan is None or not count:
            above = f"Its timestamp plus the allowed lateness of {span_text(lateness)} is not above the watermark"
            text = Sentence(f"{above}, which is ", watermark, ".")
            chains.add(numbers[which], AlikeCauses(text, ("10.9",), shown_by))
            continue
        windows = [(starts[which] - at * plan.slide_ms, ends[which] - at * plan.slide_ms) for at in range(count)]
        cleanups = [cleanups_of(plan, *window) for window in windows]
        limits[which] = np.max(cleanups, axis=0)
        lines = tuple(
            Sentence(Window(*window), " is closed since the watermark reached ", EventTime(cleanup))
            for cleanup, window in zip(cleanups[:_MOST_WINDOWS_LISTED], windows, strict=False)
        )
        closed = "its window is" if count == 1 else f"all its {count} windows are"
        text = Sentence(
            "The watermark of the operator was ",
            watermark,
            f" when the record arrived, and {closed} closed: a window is closed when the watermark reaches its last "
            f"millisecond plus the allowed lateness of {span_text(lateness)}.",
        )
        chains.add(numbers[which], AlikeCauses(text, ("10.8", "10.9"), shown_by, lines))
    return limits


def _add_watermarks(chains: Chains, numbers: Ints, facts: RunFacts, name: str, drops: Rows) -> None:
    """Since when the task has its watermark, and how its channels made it."""
    task = drops.row(0)["task"]
    states = channel_history(facts, task).states(drops["seq"])
    rows, marks = watermark_columns(facts, task)
    at = _reached(rows, marks, drops)
    reached = rows.in_order(np.maximum(at, 0)) if len(rows) else drops
    idle = sum(
        (one.is_idle for one in channel_history(facts, task).states(reached["seq"])), np.zeros(len(drops), np.int64)
    )
    for which in alike(at >= 0, idle * (at >= 0), *(kind for one in states for kind in kinds_of_states(one))):
        lines, watermark = tuple(states_text(facts, one, which) for one in states), EventTime(drops["watermark"][which])
        if at[which[0]] < 0:
            text = Sentence(f"The watermark of {name} is ", watermark, ".")
            chains.add(numbers[which], AlikeCauses(text, ("8.15",), drops.in_order(which), lines))
            continue
        how, rules = _made_of(len(states), int(idle[which[0]]))
        if len({one.channel.input for one in states}) > 1:
            rules = (*rules, "8.16")
        shown_by = reached.in_order(which)
        since = facts.since_start(shown_by)
        text = Sentence(f"{facts.task(task)} has watermark ", watermark, " since ", since, f": {how}.")
        chains.add(numbers[which], AlikeCauses(text, rules, shown_by, lines))


def _reached(rows: Rows, marks: Ints, drops: Rows) -> Ints:
    """The number of the row with which the task reached the watermark of each late record; -1: it has another one."""
    if not len(rows):
        return np.full(len(drops), -1)
    counts, first = (
        rows["seq"].searchsorted(drops["seq"]),
        np.maximum.accumulate(marks).searchsorted(drops["watermark"]),
    )
    is_last = (first < counts) & (marks[counts - 1] == drops["watermark"])
    return np.where(is_last, first, -1)


def _made_of(channels: int, idle: int) -> tuple[str, tuple[str, ...]]:
    """How the watermark follows from those of the channels, of which some were idle."""
    if channels == 1:
        return "the watermark of its only channel", ("8.9",)
    if idle == channels:
        return "all its channels had become idle, so it is the highest of their watermarks", ("8.10",)
    without = f", without {count_text(idle, 'idle channel')}" if idle else ""
    return f"the minimum over the channels that it waited for then{without}", ("8.9",)
