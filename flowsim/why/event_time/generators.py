"""Watermarks and statuses where they begin: the watermark strategies of sources and operators, and sources themselves."""

from __future__ import annotations

from enum import Enum

from flowsim.facts.kinds import ActionKind, ActionPhase
from flowsim.history.rows import alike
from flowsim.history.task_states import open_frames
from flowsim.history.watermark_strategies import delay_of, idle_ms_of, is_highest_less_bound, seen_records, strategy_of
from flowsim.laws.job_graph import Channel, Operator
from flowsim.laws.windows.plan import number_of
from flowsim.quantities import duration_text
from flowsim.units import MAX_WATERMARK, NS_PER_MS
from flowsim.why.alike_causes import AlikeCauses, Chains
from flowsim.why.answer import Cause
from flowsim.why.event_time.splits import merged, splits_of
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
    how = merged(splits, row["timestamp"])
    if how:
        lines = tuple(split.text() for split in splits)
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
        lines = tuple(split.text() for split in splits)
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


class IdledBy(Enum):
    """What declared a strategy or a split idle."""

    TIMEOUT = "its idle timeout"
    READER = "its reader, or a watermark generator of the user"
    EITHER = "not recorded"


def idled_by(facts: RunFacts, task: int, operator: Operator, row: Row) -> IdledBy:
    """What declared an output idle. ``row``: of table ``generated_watermark``, of a strategy or of a split of it."""
    strategy = strategy_of(operator) or {}
    idle_ms = number_of(strategy, "idle_ms")
    quiet_ns = _quiet_before(facts, task, operator, row) if row["split"] < 0 else None
    if not idle_ms or (quiet_ns is not None and quiet_ns <= idle_ms * NS_PER_MS):
        return IdledBy.READER
    if facts.is_full:
        # A timeout is declared at a periodic call, which is a mail; a reader runs in the default action (rules 8.2, 8.4).
        in_mail = facts.whole.shared(("in a mail", row["seq"]), task, lambda: _is_in_mail(facts, task, row))
        return IdledBy.TIMEOUT if in_mail else IdledBy.READER
    if quiet_ns is not None and strategy.get("kind") in ("bounded", "monotonous"):
        return IdledBy.TIMEOUT
    return IdledBy.EITHER


def _is_in_mail(facts: RunFacts, task: int, row: Row) -> bool:
    """Whether the innermost action around a fact runs a mail. Needs the level full."""
    frames = open_frames(facts.whole.rows("actions", task).before(row["seq"]))
    begun = [frame for frame in frames if frame["phase"] == ActionPhase.BEGIN]
    return bool(begun) and begun[-1]["kind"] == ActionKind.MAIL


def _quiet_before(facts: RunFacts, task: int, operator: Operator, row: Row) -> int | None:
    """How long a strategy had seen no record before a fact, in ns; None if the recording does not show its records."""
    seen = seen_records(facts, task, operator)
    last = None if seen is None else seen.before(row["seq"]).last()
    return None if last is None else row["time_ns"] - last["time_ns"]
