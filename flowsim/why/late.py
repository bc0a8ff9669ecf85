"""``why late``: why a record was late, from its windows up to what made the watermark."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np

from flowsim.errors import BadInput
from flowsim.history.lateness import arrivals_of, is_behind, is_interval_join
from flowsim.history.windows import windows_of
from flowsim.laws.job_graph import Operator
from flowsim.laws.windows.plan import window_plan
from flowsim.quantities import count_text
from flowsim.why.answer import Cause, WhyAnswer
from flowsim.why.event_time.in_time import in_time_chains, never_late
from flowsim.why.event_time.late_chain import late_chains
from flowsim.why.records import Records
from flowsim.why.restarts import attempt_text
from flowsim.why.run_facts import Mask, Row, Rows, RunFacts, place_of

_MOST_LISTED = 3
_MOST_WINDOWS = 6


def why_late(facts: RunFacts, record: str | None = None, tasks: frozenset[int] | None = None) -> WhyAnswer:
    """Explains the first late record that matches; without ``record`` the first late one. Raises BadInput."""
    drops = _in_tasks(facts.all_rows("late_drop"), tasks)
    if record is None:
        if not len(drops):
            return _none_late(facts, tasks)
        answer = _explained(facts, drops.cut(0, 1))
        return WhyAnswer(answer.statement, answer.causes, (*_others(facts, drops), *answer.notes))
    wanted = np.array([one.fingerprint for one in Records(facts).find(record)], dtype=np.int64)
    found = drops.where(np.isin(drops["fingerprint"], wanted))
    if len(found):
        return _explained(facts, found.cut(0, 1))
    intakes = _in_tasks(facts.all_rows("window_intake"), tasks)
    arrived = intakes.where(np.isin(intakes["fingerprint"], wanted))
    behind = arrived.where(is_behind(arrived["timestamp"], arrived["watermark"]))
    if not len(arrived):
        raise BadInput(
            f"{record!r} did not arrive at a window or an interval join, and only these can drop late records; "
            "ask 'order' or 'no-output' about it"
        )
    return _in_time(facts, behind if len(behind) else arrived)


def _in_tasks(rows: Rows, tasks: frozenset[int] | None) -> Rows:
    mask: Mask = np.ones(len(rows), dtype=np.bool_) if tasks is None else np.isin(rows["task"], sorted(tasks))
    return rows.where(mask)


def _explained(facts: RunFacts, drops: Rows) -> WhyAnswer:
    """``drops``: one row of table ``late_drop``."""
    statement, *causes = late_chains(facts, drops).chain(0)
    return WhyAnswer(statement, tuple(causes), _elsewhere(facts, drops.row(0)))


def why_arrival(facts: RunFacts, intake: Row) -> WhyAnswer:
    """Explains why a record was late or not. ``intake``: of table ``window_intake``."""
    facts = facts.in_attempt_of(intake, "window_intake")
    intakes, drops = (
        facts.rows(table, intake["task"]).equal(operator=intake["operator"]) for table in ("window_intake", "late_drop")
    )
    own = intakes["seq"] == intake["seq"]
    late = drops.where(arrivals_of(intakes, drops) == own.argmax())
    return _explained(facts, late.cut(0, 1)) if len(late) else _in_time(facts, intakes.where(own))


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
    if is_interval_join(operator):
        return Cause(f"{name} got {count}, none below its watermark.", ("10.35",), place)
    plan = None if operator is None else window_plan(operator)
    if plan is not None and not plan.event_time:
        return Cause(f"{name} got {count}: {never_late(plan)}.", ("10.6",), place)
    behind = rows.where(is_behind(rows["timestamp"], rows["watermark"]))
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


def _in_time(facts: RunFacts, intakes: Rows) -> WhyAnswer:
    """Explains why a record was not late: its window was open, or no window contains it. ``intakes``: its row first."""
    statement, *causes = in_time_chains(facts, intakes.cut(0, 1)).chain(0)
    return WhyAnswer(statement, tuple(causes))
