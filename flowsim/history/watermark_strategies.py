"""The watermark strategies of sources and operators: the records that they saw, and the watermarks that they generated."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

import numpy as np

from flowsim.facts.kinds import ActionKind, ActionPhase, ElementKind
from flowsim.history.recorded_facts import RecordedFacts
from flowsim.history.rows import Row, Rows
from flowsim.history.task_states import open_frames
from flowsim.laws.event_time.paths import EventTimePaths
from flowsim.laws.job_graph import Channel, Operator
from flowsim.laws.windows.plan import number_of
from flowsim.units import NS_PER_MS


def strategy_of(operator: Operator) -> Mapping[str, object] | None:
    """The parameters of an operator's watermark strategy; None without one."""
    found = operator.params.get("watermarks")
    return found if isinstance(found, Mapping) and found.get("kind") != "none" else None


def idle_ms_of(operator: Operator) -> int:
    """The idle timeout of an operator's watermark strategy; 0 without one (rule 8.4)."""
    return number_of(strategy_of(operator) or {}, "idle_ms")


def seen_records(facts: RecordedFacts, task: int, operator: Operator) -> Rows | None:
    """The records of a strategy in order, as rows of table ``sent``; None if not every one of them was sent on a channel.

    They were all sent if only operators that emit one record for each lie between the strategy and an output.
    """
    return facts.shared(("seen records", operator.operator), task, lambda: _seen_records(facts, task, operator))


def _seen_records(facts: RecordedFacts, task: int, operator: Operator) -> Rows | None:
    paths = facts.graph.once(EventTimePaths)
    for edge in paths.edges_of(operator, lambda behind: behind.kind == "map" and not behind.input_tag):
        channels = [channel.channel for channel in facts.graph.sent_by(task) if channel.edge == edge.edge]
        if channels and not edge.side_output:
            only = channels[:1] if edge.partitioner == "BROADCAST" else channels
            sent = facts.rows("sent", task)
            return sent.where(np.isin(sent["channel"], only) & (sent["kind"] == ElementKind.RECORD))
    return None


def generator_of(facts: RecordedFacts, channel: Channel) -> Operator | None:
    """The operator in the sender's chain whose strategy makes the watermarks of a channel; None if they pass through."""
    return facts.shared(("generator", channel.edge), channel.source_task, lambda: _generator_of(facts, channel))


def _generator_of(facts: RecordedFacts, channel: Channel) -> Operator | None:
    number = facts.graph.edges[channel.edge].source_operator
    while number >= 0:
        operator = facts.operator(channel.source_task, number)
        if operator is None:
            return None
        if strategy_of(operator) is not None:
            return operator
        number = operator.input_operator
    return None


def delay_of(operator: Operator) -> int | None:
    """How far the watermark is behind the highest timestamp (rule 8.1); None for strategies of another kind."""
    strategy = strategy_of(operator) or {}
    return number_of(strategy, "bound_ms") + 1 if strategy.get("kind") in ("bounded", "monotonous") else None


def is_highest_less_bound(operator: Operator, row: Row) -> bool:
    """Whether a watermark follows from the highest timestamp before it."""
    delay = delay_of(operator)
    return delay is not None and row["max_timestamp"] - delay == row["timestamp"]


def generated(
    facts: RecordedFacts, task: int, operator: Operator, kind: ElementKind, timestamp: int, seq: int
) -> Row | None:
    """The last time before a fact at which a strategy emitted this watermark or status for the whole operator."""
    rows = facts.rows("generated_watermark", task).before(seq)
    return rows.equal(operator=operator.operator, split=-1, kind=kind, timestamp=timestamp).last()


class IdledBy(Enum):
    """What declared a strategy or a split idle."""

    TIMEOUT = "its idle timeout"
    READER = "its reader, or a watermark generator of the user"
    EITHER = "not recorded"


def idled_by(facts: RecordedFacts, task: int, operator: Operator, row: Row) -> IdledBy:
    """What declared an output idle. ``row``: of table ``generated_watermark``, of a strategy or of a split of it."""
    idle_ms = idle_ms_of(operator)
    quiet_ns = _quiet_before(facts, task, operator, row) if row["split"] < 0 else None
    if not idle_ms or (quiet_ns is not None and quiet_ns <= idle_ms * NS_PER_MS):
        return IdledBy.READER
    if facts.is_full:
        # A timeout is declared at a periodic call, which is a mail; a reader runs in the default action (rules 8.2, 8.4).
        in_mail = facts.whole.shared(("in a mail", row["seq"]), task, lambda: _is_in_mail(facts, task, row))
        return IdledBy.TIMEOUT if in_mail else IdledBy.READER
    if quiet_ns is not None and delay_of(operator) is not None:
        return IdledBy.TIMEOUT
    return IdledBy.EITHER


def _is_in_mail(facts: RecordedFacts, task: int, row: Row) -> bool:
    """Whether the innermost action around a fact runs a mail. Needs the level full."""
    frames = open_frames(facts.whole.rows("actions", task).before(row["seq"]))
    begun = [frame for frame in frames if frame["phase"] == ActionPhase.BEGIN]
    return bool(begun) and begun[-1]["kind"] == ActionKind.MAIL


def _quiet_before(facts: RecordedFacts, task: int, operator: Operator, row: Row) -> int | None:
    """How long a strategy had seen no record before a fact, in ns; None if the recording does not show its records."""
    seen = seen_records(facts, task, operator)
    last = None if seen is None else seen.before(row["seq"]).last()
    return None if last is None else row["time_ns"] - last["time_ns"]
