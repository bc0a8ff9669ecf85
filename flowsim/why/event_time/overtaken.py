"""How a watermark came to be ahead of a record: from the task that found the record late, up to the cause."""

from __future__ import annotations

from flowsim.facts.kinds import ElementKind
from flowsim.laws.windows.plan import number_of
from flowsim.units import NO_TIMESTAMP
from flowsim.why.answer import Cause
from flowsim.why.event_time.channel_states import ChannelState, channel_states
from flowsim.why.event_time.generators import generated, generator_of, idle_cause, sent_at, strategy_of, watermark_cause
from flowsim.why.run_facts import Row, RunFacts, place_of
from flowsim.why.sentence import EventTime, EventTimeSpan, KeyValue, Part, RecordValue, Sentence

_ONE_FOR_ONE = frozenset({"source", "map", "filter", "flat_map", "co_map", "reduce", "watermarks", "sink"})
"""Kinds of operators whose result at once follows the record that it belongs to."""


def overtaking_causes(facts: RunFacts, task: int, seq: int, limit: int) -> list[Cause]:
    """Why the watermark had reached ``limit`` when a task handled the record that it had received before fact ``seq``."""
    causes: list[Cause] = []
    while True:
        arrival = facts.rows("received", task).before(seq).equal(kind=ElementKind.RECORD).last()
        if arrival is None:
            return causes
        states = channel_states(facts, task, arrival["seq"])
        state = next(one for one in states if one.channel.channel == arrival["channel"])
        sent = sent_at(facts, state.channel, arrival["position"])
        if state.watermark < limit:
            return [*causes, *_not_waited_for(facts, state, states, arrival)]
        sender = state.channel.source_task
        watermark = _overtaker(facts, state, limit, arrival)
        text = Sentence(
            f"The record came over {facts.from_(state.channel)}, behind watermark ",
            EventTime(watermark["timestamp"]),
            f" of that channel, which {facts.task(sender)} had sent before it.",
        )
        causes.append(Cause(text, ("8.18", "I7.b"), place_of(watermark), channel=state.channel.channel))
        origin = sent_at(facts, state.channel, watermark["position"])
        if sent is None or origin is None:
            return causes
        made = _made_by(facts, state, origin, sent, limit)
        if made:
            return [*causes, *made]
        chain = {operator.kind for operator in facts.operators_of(sender)}
        if not chain <= _ONE_FOR_ONE:
            result = f"{facts.task(sender)} emitted the record as a result, after it had forwarded the watermark."
            return [*causes, Cause(result, ("8.15",), place_of(sent))]
        task, seq = sender, sent["seq"]


def _overtaker(facts: RunFacts, state: ChannelState, limit: int, arrival: Row) -> Row:
    """The last watermark of a channel that reached the limit."""
    received = facts.rows("received", arrival["task"]).before(arrival["seq"])
    marks = received.equal(channel=state.channel.channel, kind=ElementKind.WATERMARK)
    return next(row for row in map(marks.row, reversed(range(len(marks)))) if row["timestamp"] >= limit)


def _made_by(facts: RunFacts, state: ChannelState, origin: Row, sent: Row, limit: int) -> list[Cause]:
    """The strategy or source in the sender's chain that made the watermark; empty if it passed through."""
    task, channel = state.channel.source_task, state.channel
    operator = generator_of(facts, channel)
    if operator is None:
        if facts.graph.tasks[task].inputs:
            return []
        text = Sentence(
            f"{facts.task(task)} itself emitted watermark ",
            EventTime(origin["timestamp"]),
            ", and then the record. A source that emits its own watermarks must not emit them ahead of its records.",
        )
        return [Cause(text, ("8.18",), place_of(origin), channel=channel.channel)]
    row = generated(facts, task, operator, ElementKind.WATERMARK, origin["timestamp"], origin["seq"])
    if row is None:
        return []
    causes = [watermark_cause(facts, task, operator, row)]
    strategy, behind = strategy_of(operator) or {}, row["max_timestamp"] - sent["timestamp"]
    if strategy.get("kind") == "bounded" and behind > 0:
        needed, bound = row["max_timestamp"] - limit, number_of(strategy, "bound_ms")
        text = Sentence(
            "The record is ",
            EventTimeSpan(behind),
            f" behind the highest timestamp that {operator.name} had seen, but the bound allows ",
            EventTimeSpan(bound),
            ". With a bound of at least ",
            EventTimeSpan(needed),
            " it would have been in time.",
        )
        causes.append(Cause(text, ("8.1",), place_of(sent), channel=channel.channel))
    return causes


def _not_waited_for(facts: RunFacts, state: ChannelState, states: list[ChannelState], arrival: Row) -> list[Cause]:
    """The channel of the record itself was behind, so the input did not wait for it."""
    sender = state.channel.source_task
    others = tuple(one.text(facts) for one in states if one is not state)
    if state.status_row is None:
        text = Sentence(f"The record came over {facts.from_(state.channel)} (", state.status(facts), ").")
        return [Cause(text, ("8.9",), place_of(arrival), others, state.channel.channel)]
    became, place = ("became idle", "8.10") if state.is_idle else ("became active again", "8.11")
    idle = _idle_row(facts, state, arrival)
    text = Sentence(
        f"The record came over {facts.from_(state.channel)}, whose own watermark is only ",
        EventTime(state.watermark),
        ". But that channel was idle from ",
        facts.since_start(idle),
        " on, so the watermark did not wait for it",
    )
    if not state.is_idle:
        at = facts.since_start(state.status_row)
        text = Sentence(text, f"; it {became} at ", at, ", too late to hold back the watermark")
    causes = [Cause(Sentence(text, "."), (place, "8.13"), place_of(idle), others, state.channel.channel)]
    sent = sent_at(facts, state.channel, idle["position"])
    operator = generator_of(facts, state.channel)
    row = None
    if sent is not None and operator is not None:
        row = generated(facts, sender, operator, ElementKind.STATUS, -1, sent["seq"])
    if row is not None and operator is not None:
        causes.append(idle_cause(facts, sender, operator, row))
    elif sent is not None and not facts.graph.tasks[sender].inputs:
        declared = f"{facts.task(sender)} itself declared that it is idle."
        causes.append(Cause(declared, ("8.10",), place_of(sent), channel=state.channel.channel))
    return causes


def _idle_row(facts: RunFacts, state: ChannelState, arrival: Row) -> Row:
    """The last time before the record at which its channel became idle."""
    received = facts.rows("received", arrival["task"]).before(arrival["seq"])
    statuses = received.equal(channel=state.channel.channel, kind=ElementKind.STATUS)
    return statuses.equal(timestamp=-1).last() or statuses.row(-1)


def described(facts: RunFacts, row: Row) -> Sentence:
    """The record of a fact with its key."""
    names = facts.names
    value: list[Part] = ["a Record"]
    if names.has_value(row["fingerprint"]):
        value = ["Record ", RecordValue(row["fingerprint"], names)]
    if row["timestamp"] != NO_TIMESTAMP:
        value += [" (timestamp ", EventTime(row["timestamp"]), ")"]
    if names.key(row["key"]):
        value += [", key ", KeyValue(row["key"], names), ","]
    return Sentence(*value)
