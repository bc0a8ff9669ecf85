"""``why late``: why a record was late, from its windows up to what made the watermark."""

from __future__ import annotations

from collections import Counter

import numpy as np

from flowsim.errors import BadInput
from flowsim.facts.kinds import ElementKind
from flowsim.laws.job_graph import Operator
from flowsim.laws.windows.plan import WindowPlan, last_of, number_of, window_plan
from flowsim.quantities import count_text
from flowsim.trace.sentence import window_text
from flowsim.trace.time import event_time, span_text
from flowsim.units import NO_TIMESTAMP
from flowsim.why.answer import Cause, WhyAnswer
from flowsim.why.event_time.channel_states import channel_states
from flowsim.why.event_time.overtaken import described, overtaking_causes
from flowsim.why.event_time.windows import windows_of
from flowsim.why.records import Records
from flowsim.why.run_facts import Ints, Mask, Row, Rows, RunFacts, place_of
from flowsim.why.sentence import EventTime, Sentence, Window

_MOST_LISTED = 3
_MOST_WINDOWS = 6


def why_late(facts: RunFacts, record: str | None = None, tasks: frozenset[int] | None = None) -> WhyAnswer:
    """Explains the first late record that matches; without ``record`` the first late one. Raises BadInput."""
    drops = _in_tasks(facts.all_rows("late_drop"), tasks)
    if record is None:
        if not len(drops):
            return _none_late(facts, tasks)
        answer = _explained(facts, drops.row(0))
        return WhyAnswer(answer.statement, answer.causes, (*_others(facts, drops), *answer.notes))
    wanted = np.array([one.fingerprint for one in Records(facts).find(record)], dtype=np.int64)
    found = drops.where(np.isin(drops["fingerprint"], wanted))
    if len(found):
        return _explained(facts, found.row(0))
    return _in_time(facts, record, wanted, tasks)


def _in_tasks(rows: Rows, tasks: frozenset[int] | None) -> Rows:
    mask: Mask = np.ones(len(rows), dtype=np.bool_) if tasks is None else np.isin(rows["task"], sorted(tasks))
    return rows.where(mask)


def _explained(facts: RunFacts, drop: Row) -> WhyAnswer:
    statement, causes = late_causes(facts, drop)
    return WhyAnswer(statement, tuple(causes), _elsewhere(facts.in_attempt_of(drop, "late_drop"), drop))


def late_causes(facts: RunFacts, drop: Row) -> tuple[Cause, list[Cause]]:
    """The statement that a record is late, and the chain of its causes. ``drop``: of table ``late_drop``.

    Causes of the same watermark are computed once: several late records share them.
    """
    facts = facts.in_attempt_of(drop, "late_drop")
    task, operator = drop["task"], facts.operator(drop["task"], drop["operator"])
    name = facts.operator_in(task, drop["operator"])
    fate = "goes to the late side output" if drop["side_output"] else "is dropped and only counted"
    statement = Cause(Sentence(described(facts, drop), f" is late at {name}: it {fate}."), ("10.10",), place_of(drop))
    plan = None if operator is None else window_plan(operator)
    intake = facts.rows("window_intake", task).before(drop["seq"]).equal(operator=drop["operator"]).last() or drop
    rule, limit = _limit(facts, operator, plan, drop, intake)
    return statement, [rule, _watermark_cause(facts, task, drop), *overtaking_causes(facts, task, drop["seq"], limit)]


def _limit(
    facts: RunFacts, operator: Operator | None, plan: WindowPlan | None, drop: Row, intake: Row
) -> tuple[Cause, int]:
    """The rule that makes the record late, and the watermark from which on it is late."""
    watermark, timestamp = EventTime(drop["watermark"]), drop["timestamp"]
    if operator is not None and operator.kind == "interval_join":
        text = Sentence("An interval join does not use a record below the watermark, which is ", watermark, ".")
        return Cause(text, ("10.35",), place_of(intake)), timestamp + 1
    lateness = number_of(operator.params, "lateness_ms") if operator is not None else 0
    windows = [] if plan is None else windows_of(plan, intake)
    if plan is None or not windows:
        above = f"Its timestamp plus the allowed lateness of {span_text(lateness)} is not above the watermark"
        text = Sentence(f"{above}, which is ", watermark, ".")
        return Cause(text, ("10.9",), place_of(intake)), timestamp + lateness
    cleanups = [(plan.cleanup_of(last_of(*window)), window) for window in windows]
    lines = tuple(
        Sentence(Window(*window), " is closed since the watermark reached ", EventTime(cleanup))
        for cleanup, window in cleanups[:_MOST_WINDOWS]
    )
    which = "its window is" if len(windows) == 1 else f"all its {len(windows)} windows are"
    text = Sentence(
        "The watermark of the operator was ",
        watermark,
        f" when the record arrived, and {which} closed: a window is closed when the watermark reaches its last "
        f"millisecond plus the allowed lateness of {span_text(lateness)}.",
    )
    return Cause(text, ("10.8", "10.9"), place_of(intake), lines), max(cleanup for cleanup, _ in cleanups)


def _watermark_cause(facts: RunFacts, task: int, drop: Row) -> Cause:
    """Since when the task has this watermark, and what its channels contributed."""
    marks = facts.rows("task_watermark", task).before(drop["seq"]).equal(kind=ElementKind.WATERMARK)
    reached = marks.where(marks["timestamp"] >= drop["watermark"]).first() or marks.last()
    states = channel_states(facts, task, drop["seq"])
    inputs = {state.channel.input for state in states}
    since = Sentence() if reached is None else Sentence(" since ", facts.since_start(reached))
    how = "the watermark of its only channel" if len(states) == 1 else "the minimum over the channels that it waits for"
    rules = ("8.9", "8.16") if len(inputs) > 1 else ("8.9",)
    text = Sentence(f"{facts.task(task)} has watermark ", EventTime(drop["watermark"]), since, f": {how}.")
    return Cause(text, rules, None if reached is None else place_of(reached), tuple(one.text(facts) for one in states))


def _elsewhere(facts: RunFacts, drop: Row) -> tuple[str, ...]:
    """What the other operators did with the same record."""
    if not drop["fingerprint"]:
        return ()
    dropped = {
        (row["task"], row["operator"]) for row in facts.all_rows("late_drop").equal(fingerprint=drop["fingerprint"])
    }
    notes = []
    for row in facts.all_rows("window_intake").equal(fingerprint=drop["fingerprint"]):
        at = row["task"], row["operator"]
        if at != (drop["task"], drop["operator"]):
            what = "late as well" if at in dropped else "not late"
            notes.append(f"the same record is {what} at {facts.operator_in(*at)} (see --task)")
    return tuple(dict.fromkeys(notes))


def _others(facts: RunFacts, drops: Rows) -> tuple[str, ...]:
    counts = Counter(zip(drops["task"].tolist(), drops["operator"].tolist(), strict=True))
    if sum(counts.values()) == 1:
        return ()
    parts = ", ".join(f"{count:,} at {facts.operator_in(*at)}" for at, count in counts.items())
    values = list(dict.fromkeys(filter(None, (facts.names.value(int(one)) for one in drops["fingerprint"][:200]))))
    shown = ", ".join(values[:_MOST_LISTED]) + (", ..." if len(values) > _MOST_LISTED else "")
    named = f"; name one to explain it: {shown}" if len(values) > 1 else ""
    return (f"this is the first of {count_text(len(drops), 'late record')}: {parts}{named}",)


def _none_late(facts: RunFacts, tasks: frozenset[int] | None) -> WhyAnswer:
    intakes = _in_tasks(facts.all_rows("window_intake"), tasks)
    if not len(intakes):
        text = "No record is late: no record arrived at a window or an interval join, and only these can drop late records."
        return WhyAnswer(Cause(text, ("10.9", "10.35")))
    behind = intakes.where(_is_behind(intakes))
    if not len(behind):
        text = f"No record is late: all {len(intakes):,} records arrived above the watermark of their operator."
        return WhyAnswer(Cause(text, ("10.9",), place_of(intakes.row(0))))
    text = (
        f"No record is late: {count_text(len(behind), 'record')} of {len(intakes):,} arrived behind the watermark, but a "
        "window of each was still open."
    )
    return WhyAnswer(Cause(text, ("10.9",), place_of(behind.row(0))))


def _is_behind(intakes: Rows) -> Mask:
    behind: Mask = (intakes["timestamp"] <= intakes["watermark"]) & (intakes["watermark"] != NO_TIMESTAMP)
    return behind


def _in_time(facts: RunFacts, record: str, wanted: Ints, tasks: frozenset[int] | None) -> WhyAnswer:
    """Explains why the record is not late: its window was open, or no window takes it."""
    intakes = _in_tasks(facts.all_rows("window_intake"), tasks)
    found = intakes.where(np.isin(intakes["fingerprint"], wanted))
    row = found.where(_is_behind(found)).first() or found.first()
    if row is None:
        raise BadInput(
            f"{record!r} did not arrive at a window or an interval join, and only these can drop late records; "
            "ask 'order' or 'no-output' about it"
        )
    facts = facts.in_attempt_of(row, "window_intake")
    task, operator = row["task"], facts.operator(row["task"], row["operator"])
    name = facts.operator_in(task, row["operator"])
    plan = None if operator is None else window_plan(operator)
    windows = [] if plan is None else windows_of(plan, row)
    if plan is not None and not windows:
        text = f"{described(facts, row)} is not late at {name}, but no window contains it."
        slide = (
            f"The windows have a size of {plan.size_ms:,} ms, and a new one starts every {plan.slide_ms:,} ms: a record in "
            "the gap between two windows is skipped. It is not counted as late unless it is also behind the watermark."
        )
        return WhyAnswer(Cause(text, ("10.10",), place_of(row)), (Cause(slide, ("10.4", "I10.a"), place_of(row)),))
    text = f"{described(facts, row)} is not late at {name}."
    watermark = event_time(row["watermark"])
    if plan is None or not plan.event_time or row["timestamp"] > row["watermark"]:
        why = f"It arrived when the watermark was {watermark}."
        return WhyAnswer(Cause(text, ("10.9",), place_of(row)), (Cause(why, ("10.9",), place_of(row)),))
    lines = tuple(
        f"{window_text(*window)} accepts records until the watermark reaches {event_time(plan.cleanup_of(last_of(*window)))}"
        for window in windows[:_MOST_WINDOWS]
    )
    why = (
        f"It arrived behind the watermark, which was {watermark}, but a window was still open: lateness depends on the end "
        "of the window, not on the record's own timestamp."
    )
    return WhyAnswer(Cause(text, ("10.9",), place_of(row)), (Cause(why, ("10.8", "10.9"), place_of(row), lines),))
