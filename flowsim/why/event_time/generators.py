"""Watermarks and statuses where they begin: the watermark strategies of sources and operators, and sources themselves."""

from __future__ import annotations

from collections.abc import Mapping

from flowsim.facts.kinds import ElementKind
from flowsim.laws.job_graph import Channel, Operator
from flowsim.laws.windows.plan import number_of
from flowsim.quantities import duration_text
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP, NS_PER_MS
from flowsim.why.answer import Cause
from flowsim.why.run_facts import Row, RunFacts, place_of
from flowsim.why.sentence import EventTime, EventTimeSpan, RecordCount, Sentence


def strategy_of(operator: Operator) -> Mapping[str, object] | None:
    """The parameters of an operator's watermark strategy; None without one."""
    found = operator.params.get("watermarks")
    return found if isinstance(found, Mapping) and found.get("kind") != "none" else None


def generator_of(facts: RunFacts, channel: Channel) -> Operator | None:
    """The operator in the sender's chain whose strategy makes the watermarks of a channel; None if they pass through."""
    number = facts.graph.edges[channel.edge].source_operator
    while number >= 0:
        operator = facts.operator(channel.source_task, number)
        if operator is None:
            return None
        if strategy_of(operator) is not None:
            return operator
        number = operator.input_operator
    return None


def is_source(facts: RunFacts, task: int) -> bool:
    """Whether a task has no input."""
    return facts.graph.tasks[task].inputs == 0


def sent_at(facts: RunFacts, channel: Channel, position: int) -> Row | None:
    """The element at a position of a channel, as its sender recorded it."""
    return facts.rows("sent", channel.source_task).equal(channel=channel.channel, position=position).first()


def generated(
    facts: RunFacts, task: int, operator: Operator, kind: ElementKind, timestamp: int, seq: int
) -> Row | None:
    """The last time before a fact at which a strategy emitted this watermark or status for the whole operator."""
    rows = facts.rows("generated_watermark", task).before(seq)
    return rows.equal(operator=operator.operator, split=-1, kind=kind, timestamp=timestamp).last()


def watermark_cause(facts: RunFacts, task: int, operator: Operator, row: Row) -> Cause:
    """How a strategy computed a watermark. ``row``: of table ``generated_watermark``."""
    strategy = strategy_of(operator) or {}
    name, watermark = facts.operator_in(task, operator.operator), EventTime(row["timestamp"])
    text = Sentence(f"{name} generated watermark ", watermark)
    if row["timestamp"] == MAX_WATERMARK:
        return Cause(Sentence(text, " at the end of its input."), ("4.10", "8.7"), place_of(row))
    text = Sentence(text, " after ", RecordCount(row["records"]))
    splits = facts.rows("generated_watermark", task).before(row["seq"]).equal(operator=operator.operator)
    if (splits["split"] >= 0).any():
        return Cause(Sentence(text, ": the minimum over its splits."), ("8.6",), place_of(row))
    if strategy.get("kind") != "bounded" or row["max_timestamp"] == NO_TIMESTAMP:
        return Cause(Sentence(text, "."), ("8.1",), place_of(row))
    return Cause(Sentence(text, ": ", formula(row, number_of(strategy, "bound_ms")), "."), ("8.1",), place_of(row))


def formula(row: Row, bound_ms: int) -> Sentence:
    """How a watermark of table ``generated_watermark`` follows from the records before it (rule 8.1)."""
    highest, bound = EventTime(row["max_timestamp"]), EventTimeSpan(bound_ms)
    return Sentence("their highest timestamp ", highest, ", less the bound of ", bound, ", less 1 ms")


def idle_cause(facts: RunFacts, task: int, operator: Operator, row: Row) -> Cause:
    """Why a strategy declared its output idle."""
    strategy, name = strategy_of(operator) or {}, facts.operator_in(task, operator.operator)
    idle_ms = number_of(strategy, "idle_ms")
    if not idle_ms:
        # Without a timeout only the reader, or a generator of the user, declares the output idle.
        return Cause(f"{name} was declared idle by its reader or its watermark generator.", ("8.6",), place_of(row))
    timeout = f"no record for more than its idle timeout of {duration_text(idle_ms * NS_PER_MS)}"
    if strategy.get("kind") == "custom":
        text = f"{name} was declared idle by its reader or its watermark generator, or it had {timeout}."
        return Cause(text, ("8.4", "8.6"), place_of(row))
    return Cause(f"{name} declared itself idle: it had {timeout}.", ("8.4",), place_of(row))
