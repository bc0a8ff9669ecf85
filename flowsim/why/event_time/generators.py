"""Watermarks and statuses where they begin: the watermark strategies of sources and operators, and sources themselves."""

from __future__ import annotations

from flowsim.history.rows import alike
from flowsim.history.splits import splits_of
from flowsim.history.watermark_strategies import (
    IdledBy,
    delay_of,
    idle_ms_of,
    idled_by,
    is_highest_less_bound,
)
from flowsim.laws.job_graph import Channel, Operator
from flowsim.quantities import duration_text
from flowsim.units import MAX_WATERMARK, NS_PER_MS
from flowsim.why.alike_causes import AlikeCauses, Chains
from flowsim.why.answer import Cause
from flowsim.why.event_time.split_texts import merged, split_lines
from flowsim.why.run_facts import Ints, Row, Rows, RunFacts, place_of
from flowsim.why.sentence import EventTime, EventTimeSpan, RecordCount, Sentence


def sent_at(facts: RunFacts, channel: Channel, position: int) -> Row | None:
    """The element at a position of a channel, as its sender recorded it."""
    return facts.rows("sent", channel.source_task).equal(channel=channel.channel, position=position).first()


def add_watermark_causes(
    chains: Chains, numbers: Ints, facts: RunFacts, task: int, operator: Operator, rows: Rows
) -> None:
    """Continues chains with how a strategy computed a watermark. ``rows``: of table ``generated_watermark``."""
    is_end, delay = rows["timestamp"] == MAX_WATERMARK, delay_of(operator)
    is_from_splits = ~is_end & bool(splits_of(facts, task, operator))
    is_by_bound = ~is_end & (False if delay is None else rows["max_timestamp"] - delay == rows["timestamp"])
    for which in alike(is_end, is_from_splits, is_by_bound):
        part = rows.in_order(which)
        if is_from_splits[which[0]]:
            of_rows = {row["seq"]: row for row in part}
            causes = {seq: _from_splits(facts, task, operator, row) for seq, row in of_rows.items()}
            chains.add_all(numbers[which], [[causes[seq]] for seq in part["seq"].tolist()])
            continue
        text = _generated_text(facts, task, operator, part)
        if is_end[which[0]]:
            end = Sentence(text, " at the end of its input.")
            chains.add(numbers[which], AlikeCauses(end, ("4.10", "8.7"), part))
        else:
            text = _by_records(text, operator, part, is_by_bound=bool(is_by_bound[which[0]]))
            chains.add(numbers[which], AlikeCauses(text, ("8.1",), part))


def _generated_text(facts: RunFacts, task: int, operator: Operator, row: Row | Rows) -> Sentence:
    return Sentence(f"{facts.operator_in(task, operator.operator)} generated watermark ", EventTime(row["timestamp"]))


def _by_records(text: Sentence, operator: Operator, row: Row | Rows, *, is_by_bound: bool) -> Sentence:
    text = Sentence(text, " after ", RecordCount(row["records"]))
    return Sentence(text, ": ", formula(operator, row), ".") if is_by_bound else Sentence(text, ".")


def _from_splits(facts: RunFacts, task: int, operator: Operator, row: Row) -> Cause:
    text, splits = _generated_text(facts, task, operator, row), splits_of(facts, task, operator, row["seq"])
    how = merged(facts, task, operator, splits, row["timestamp"])
    if how:
        lines = split_lines(facts, task, operator, splits)
        after = Sentence(text, " after ", RecordCount(row["records"]))
        return Cause(Sentence(after, f": {how}."), ("8.6",), place_of(row), lines)
    is_by_bound = is_highest_less_bound(operator, row)
    rules = ("8.1",) if is_by_bound else ("8.1", "8.6")
    return Cause(_by_records(text, operator, row, is_by_bound=is_by_bound), rules, place_of(row))


def formula(operator: Operator, row: Row | Rows) -> Sentence:
    """How a watermark of table ``generated_watermark`` follows from the records before it (rule 8.1)."""
    highest, bound = EventTime(row["max_timestamp"]), EventTimeSpan((delay_of(operator) or 1) - 1)
    return Sentence("their highest timestamp ", highest, ", less the bound of ", bound, ", less 1 ms")


def idle_cause(facts: RunFacts, task: int, operator: Operator, row: Row) -> Cause:
    """Why a strategy declared its output idle. ``row``: of table ``generated_watermark``."""
    name = facts.operator_in(task, operator.operator)
    splits = splits_of(facts, task, operator, row["seq"])
    if splits and row["split"] < 0:
        lines = split_lines(facts, task, operator, splits)
        text = f"{name} was declared idle: each of its splits was idle or had ended."
        return Cause(text, ("8.4", "8.6"), place_of(row), lines)
    idle_ms = idle_ms_of(operator)
    timeout = f"its idle timeout of {duration_text(idle_ms * NS_PER_MS)}"
    match idled_by(facts, task, operator, row):
        case IdledBy.READER:
            return Cause(f"{name} was declared idle by its reader or its watermark generator.", ("8.6",), place_of(row))
        case IdledBy.EITHER:
            text = f"{name} was declared idle: by {timeout}, or by its reader or its watermark generator."
            return Cause(text, ("8.4", "8.6"), place_of(row))
        case IdledBy.TIMEOUT:
            text = f"{name} was declared idle: it had no record for more than {timeout}."
            return Cause(text, ("8.4",), place_of(row))
