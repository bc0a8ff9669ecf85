"""``why late``: why a record was late, from its windows up to what made the watermark."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from dataclasses import replace

import numpy as np

from flowsim.errors import BadInput
from flowsim.laws.job_graph import Operator
from flowsim.laws.windows.plan import WindowPlan, last_of, number_of, window_plan
from flowsim.quantities import count_text
from flowsim.trace.sentence import window_text
from flowsim.trace.time import event_time, span_text
from flowsim.units import NO_TIMESTAMP
from flowsim.why.answer import Cause, WhyAnswer
from flowsim.why.event_time.channel_states import ChannelState, channel_states
from flowsim.why.event_time.overtaken import described, overtaking_causes
from flowsim.why.event_time.windows import windows_from, windows_of
from flowsim.why.records import Records
from flowsim.why.restarts import attempt_text
from flowsim.why.run_facts import Mask, Row, Rows, RunFacts, place_of
from flowsim.why.sentence import EventTime, Sentence, Window
from flowsim.why.timers.watermarks import operator_watermarks

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
    intakes = _in_tasks(facts.all_rows("window_intake"), tasks)
    arrived = intakes.where(np.isin(intakes["fingerprint"], wanted))
    row = arrived.where(_is_behind(arrived)).first() or arrived.first()
    if row is None:
        raise BadInput(
            f"{record!r} did not arrive at a window or an interval join, and only these can drop late records; "
            "ask 'order' or 'no-output' about it"
        )
    return _in_time(facts, row)


def _in_tasks(rows: Rows, tasks: frozenset[int] | None) -> Rows:
    mask: Mask = np.ones(len(rows), dtype=np.bool_) if tasks is None else np.isin(rows["task"], sorted(tasks))
    return rows.where(mask)


def _explained(facts: RunFacts, drop: Row) -> WhyAnswer:
    statement, causes = late_causes(facts, drop)
    return WhyAnswer(statement, tuple(causes), _elsewhere(facts, drop))


def why_arrival(facts: RunFacts, intake: Row) -> WhyAnswer:
    """Explains why a record was late or not. ``intake``: of table ``window_intake``."""
    facts = facts.in_attempt_of(intake, "window_intake")
    of_operator = {"operator": intake["operator"]}
    drop = facts.rows("late_drop", intake["task"]).equal(**of_operator).after(intake["seq"]).first()
    following = facts.rows("window_intake", intake["task"]).equal(**of_operator).after(intake["seq"]).first()
    if drop is not None and (following is None or drop["seq"] < following["seq"]):
        return _explained(facts, drop)
    return _in_time(facts, intake)


def late_causes(facts: RunFacts, drop: Row) -> tuple[Cause, list[Cause]]:
    """The statement that a record is late, and the chain of its causes. ``drop``: of table ``late_drop``.

    Causes of the same watermark are computed once: several late records share them.
    """
    facts = facts.in_attempt_of(drop, "late_drop")
    task, operator = drop["task"], facts.operator(drop["task"], drop["operator"])
    name = facts.operator_in(task, drop["operator"])
    fate = "goes to the late side output" if drop["side_output"] else "is dropped and only counted"
    text = Sentence(described(facts, drop), f" is late at {name}{attempt_text(facts, task)}: it {fate}.")
    statement = Cause(text, (_rule(operator, "10.10"),), place_of(drop))
    arrived = facts.shared(("arrived", drop["operator"]), task, lambda: _Arrived(facts, task, drop["operator"]))
    rule, limit = _limit(operator, arrived.plan, drop, *arrived.before(drop))
    return statement, [rule, _watermark_cause(facts, task, drop), *overtaking_causes(facts, task, drop["seq"], limit)]


class _Arrived:
    """The records that arrived at an operator, with their windows."""

    def __init__(self, facts: RunFacts, task: int, number: int) -> None:
        operator = facts.operator(task, number)
        self.plan = None if operator is None else window_plan(operator)
        self._rows = facts.rows_with("window_intake", task, operator=number)
        self._assigned: list[tuple[int, int]] = []
        if self.plan is not None:
            columns = self.plan.assign(self._rows["timestamp"], self._rows["time_ns"], self._rows["gap"])
            self._assigned = list(zip(*(column.tolist() for column in columns), strict=True))

    def before(self, drop: Row) -> tuple[Row, list[tuple[int, int]]]:
        """The row of a late record, and its windows; without one the fact that it is late."""
        number = len(self._rows.before(drop["seq"])) - 1
        if self.plan is None or number < 0:
            row = drop if number < 0 else self._rows.row(number)
            return row, [] if self.plan is None else windows_of(self.plan, row)
        return self._rows.row(number), windows_from(self.plan, *self._assigned[number])


def _rule(operator: Operator | None, of_windows: str) -> str:
    """The rule about lateness: interval joins have their own."""
    return "10.35" if operator is not None and operator.kind == "interval_join" else of_windows


def _limit(
    operator: Operator | None, plan: WindowPlan | None, drop: Row, intake: Row, windows: list[tuple[int, int]]
) -> tuple[Cause, int]:
    """The rule that makes the record late, and the watermark from which on it is late."""
    watermark, timestamp = EventTime(drop["watermark"]), drop["timestamp"]
    if operator is not None and operator.kind == "interval_join":
        text = Sentence("An interval join does not use a record below the watermark, which is ", watermark, ".")
        return Cause(text, ("10.35",), place_of(intake)), timestamp + 1
    lateness = number_of(operator.params, "lateness_ms") if operator is not None else 0
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
    """Since when the task has this watermark, and how its channels made it."""
    states = channel_states(facts, task, drop["seq"])
    marks = facts.shared("marks", task, lambda: _Marks(operator_watermarks(facts, task)))
    reached = marks.reached(drop["watermark"], drop["seq"])
    if reached is None:
        text = Sentence(
            f"The watermark of {facts.operator_in(task, drop['operator'])} is ", EventTime(drop["watermark"]), "."
        )
        return Cause(text, ("8.15",), place_of(drop), tuple(one.text(facts) for one in states))
    about = "watermark cause", reached["seq"], *map(id, states)
    return facts.shared(about, task, lambda: _reached_cause(facts, task, reached, drop["watermark"], states))


class _Marks:
    """The watermarks of the head of a chain."""

    def __init__(self, marks: list[tuple[Row, int]]) -> None:
        self._marks = marks
        self._seqs = [row["seq"] for row, _ in marks]
        self._highest = np.maximum.accumulate([watermark for _, watermark in marks]).tolist() if marks else []

    def reached(self, watermark: int, before_seq: int) -> Row | None:
        """Where the last watermark before a fact was reached; None if it is another one."""
        count = bisect_left(self._seqs, before_seq)
        first = bisect_left(self._highest, watermark)
        return self._marks[first][0] if first < count and self._marks[count - 1][1] == watermark else None


def _reached_cause(facts: RunFacts, task: int, reached: Row, watermark: int, states: list[ChannelState]) -> Cause:
    how, rules = "", ["8.9"]
    idle = [one for one in channel_states(facts, task, reached["seq"]) if one.is_idle]
    if len(states) == 1:
        how = "the watermark of its only channel"
    elif len(idle) == len(states):
        how, rules = "all its channels had become idle, so it is the highest of their watermarks", ["8.10"]
    else:
        how = "the minimum over the channels that it waited for then"
        how += f", without {count_text(len(idle), 'idle channel')}" if idle else ""
    if len({state.channel.input for state in states}) > 1:
        rules.append("8.16")
    mark, since = EventTime(watermark), facts.since_start(reached)
    text = Sentence(f"{facts.task(task)} has watermark ", mark, " since ", since, f": {how}.")
    return Cause(text, tuple(rules), place_of(reached), tuple(one.text(facts) for one in states))


def _elsewhere(facts: RunFacts, drop: Row) -> tuple[str, ...]:
    """What the other operators, and other attempts of the same one, did with the same record."""
    if not drop["fingerprint"]:
        return ()
    same = {"fingerprint": drop["fingerprint"], "timestamp": drop["timestamp"]}
    dropped, own = {_at(facts, row, "late_drop") for row in facts.all_rows("late_drop").equal(**same)}, _at(facts, drop)
    notes = []
    for row in facts.all_rows("window_intake").equal(**same):
        at = _at(facts, row, "window_intake")
        if at != own:
            what = "late as well" if at in dropped else "not late"
            notes.append(
                f"an equal record is {what} at {_at_text(facts, at)}{' (see --task)' if at[0] != own[0] else ''}"
            )
    return tuple(dict.fromkeys(notes))


def _at(facts: RunFacts, row: Row, table: str = "late_drop") -> tuple[int, int, int]:
    """The task, operator and attempt of a fact."""
    return row["task"], row["operator"], facts.in_attempt_of(row, table).attempt_of(row["task"])


def _at_text(facts: RunFacts, at: tuple[int, int, int]) -> str:
    task, operator, attempt = at
    return f"{facts.operator_in(task, operator)}{attempt_text(facts, task, attempt)}"


def _others(facts: RunFacts, drops: Rows) -> tuple[str, ...]:
    counts = Counter(_at(facts, row) for row in drops)
    if counts.total() == 1:
        return ()
    parts = ", ".join(f"{count:,} at {_at_text(facts, at)}" for at, count in counts.items())
    values = list(dict.fromkeys(filter(None, (facts.names.value(int(one)) for one in drops["fingerprint"][:200]))))
    shown = ", ".join(values[:_MOST_LISTED]) + (", ..." if len(values) > _MOST_LISTED else "")
    named = f"; name one to explain it: {shown}" if len(values) > 1 else ""
    return (f"this is the first of {count_text(len(drops), 'late record')}: {parts}{named}",)


def _none_late(facts: RunFacts, tasks: frozenset[int] | None) -> WhyAnswer:
    intakes = _in_tasks(facts.all_rows("window_intake"), tasks)
    if not len(intakes):
        text = "No record is late: no record arrived at a window or an interval join, and only these can drop late records."
        return WhyAnswer(Cause(text, ("10.9", "10.35")))
    causes: list[Cause] = []
    for task, number in sorted(set(zip(intakes["task"].tolist(), intakes["operator"].tolist(), strict=True))):
        operator, rows = facts.operator(task, number), intakes.equal(task=task, operator=number)
        name = facts.operator_in(task, number)
        causes.append(_none_late_at(name, count_text(len(rows), "record") + _of_attempts(facts, rows), operator, rows))
    if len(causes) == 1:
        return WhyAnswer(replace(causes[0], sentence=f"No record is late: {causes[0].text}"))
    rules = tuple(dict.fromkeys(rule for cause in causes for rule in cause.rules))
    text = f"No record is late: {count_text(len(intakes), 'record')} arrived at windows or interval joins."
    return WhyAnswer(Cause(text, rules, place_of(intakes.row(0))), tuple(causes))


def _of_attempts(facts: RunFacts, intakes: Rows) -> str:
    """How many of the records arrived in each attempt of a task; '' if it was never restarted."""
    counts = Counter(_at(facts, row, "window_intake")[2] for row in intakes)
    if not facts.graph.history.last_attempts.get(int(intakes["task"][0]), 0):
        return ""
    return f" ({', '.join(f'{count:,} in attempt {attempt}' for attempt, count in sorted(counts.items()))})"


def _none_late_at(name: str, count: str, operator: Operator | None, rows: Rows) -> Cause:
    """Why no record was late at one operator. ``count``: of its records, as text."""
    place = place_of(rows.row(0))
    if operator is not None and operator.kind == "interval_join":
        return Cause(f"{name} got {count}, none below its watermark.", ("10.35",), place)
    plan = None if operator is None else window_plan(operator)
    if plan is not None and not plan.event_time:
        return Cause(f"{name} got {count}: its windows follow the clock, so no record is late.", ("10.6",), place)
    behind = rows.where(_is_behind(rows))
    if not len(behind):
        return Cause(f"{name} got {count}, all above its watermark.", ("10.9",), place)
    text = f"{name} got {count}, of which {len(behind):,} arrived behind its watermark. "
    if plan is not None and not plan.merging and all(windows_of(plan, row) for row in behind):
        text += "A window of each was still open."
        return Cause(text, ("10.9",), place_of(behind.row(0)))
    text += (
        "None was late: a window was still open, or the timestamp plus the allowed lateness was above the watermark."
    )
    return Cause(text, ("10.9", "10.10"), place_of(behind.row(0)))


def _is_behind(intakes: Rows) -> Mask:
    behind: Mask = (intakes["timestamp"] <= intakes["watermark"]) & (intakes["watermark"] != NO_TIMESTAMP)
    return behind


def _in_time(facts: RunFacts, row: Row) -> WhyAnswer:
    """Explains why a record was not late: its window was open, or no window contains it."""
    facts = facts.in_attempt_of(row, "window_intake")
    task, operator = row["task"], facts.operator(row["task"], row["operator"])
    name, attempt = facts.operator_in(task, row["operator"]), attempt_text(facts, task)
    plan = None if operator is None else window_plan(operator)
    windows = [] if plan is None else windows_of(plan, row)
    if plan is not None and not windows:
        text = f"{described(facts, row)} is not late at {name}{attempt}, but no window contains it."
        slide = (
            f"The windows have a size of {plan.size_ms:,} ms, and a new one starts every {plan.slide_ms:,} ms: a record in "
            "the gap between two windows is skipped. It is not counted as late unless it is also behind the watermark."
        )
        return WhyAnswer(Cause(text, ("10.10",), place_of(row)), (Cause(slide, ("10.4", "I10.a"), place_of(row)),))
    text = f"{described(facts, row)} is not late at {name}{attempt}."
    return WhyAnswer(
        Cause(text, (_rule(operator, "10.9"),), place_of(row)), (_why_in_time(operator, plan, windows, row),)
    )


def _why_in_time(operator: Operator | None, plan: WindowPlan | None, windows: list[tuple[int, int]], row: Row) -> Cause:
    watermark, place = event_time(row["watermark"]), place_of(row)
    if row["watermark"] == NO_TIMESTAMP:
        return Cause("It arrived before the first watermark.", (_rule(operator, "10.9"),), place)
    if operator is not None and operator.kind == "interval_join":
        return Cause(f"Its timestamp is not below the watermark, which was {watermark}.", ("10.35",), place)
    if plan is not None and not plan.event_time:
        return Cause("The windows follow the clock, so no record is late.", ("10.6",), place)
    if row["timestamp"] > row["watermark"]:
        return Cause(f"It arrived above the watermark, which was {watermark}.", ("10.9",), place)
    if plan is None:
        return Cause(f"It arrived behind the watermark, which was {watermark}.", ("10.9",), place)
    cleanups = [(plan.cleanup_of(last_of(*window)), window) for window in windows]
    lines = tuple(
        f"{window_text(*window)} accepts records until the watermark reaches {event_time(cleanup)}"
        for cleanup, window in cleanups[:_MOST_WINDOWS]
        if cleanup > row["watermark"]
    )
    why = f"It arrived behind the watermark, which was {watermark}, but "
    why += "a window was still open" if lines else "it merged into a window that was still open"
    why += ": lateness depends on the end of the window, not on the record's own timestamp."
    return Cause(why, ("10.8", "10.9") if lines else ("10.9", "10.25"), place, lines)
