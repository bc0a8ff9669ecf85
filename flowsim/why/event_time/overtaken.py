"""How a watermark came to be ahead of a record: from the task that found the record late, up to the cause."""

from __future__ import annotations

from flowsim.facts.kinds import ElementKind
from flowsim.laws.job_graph import Operator
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP
from flowsim.why.answer import Cause
from flowsim.why.event_time.channel_states import ChannelState, channel_states
from flowsim.why.event_time.generators import delay_of, generated, generator_of, idle_cause, sent_at, watermark_cause
from flowsim.why.event_time.splits import Split, is_sequential, split_name, split_of_record, splits_of
from flowsim.why.run_facts import Row, RunFacts, place_of
from flowsim.why.sentence import EventTime, EventTimeSpan, KeyValue, Part, RecordCount, RecordValue, Sentence

_ONE_FOR_ONE = frozenset({"source", "map", "filter", "flat_map", "co_map", "reduce", "watermarks", "sink"})
"""Kinds of operators whose result at once follows the record that it belongs to."""


def overtaking_causes(facts: RunFacts, task: int, seq: int, limit: int) -> list[Cause]:
    """Why the watermark had reached ``limit`` when a task handled the record that it had received before fact ``seq``."""
    causes: list[Cause] = []
    while True:
        arrival = facts.rows_with("received", task, kind=ElementKind.RECORD).before(seq).last()
        if arrival is None:
            return causes
        states = channel_states(facts, task, arrival["seq"])
        state = next(one for one in states if one.channel.channel == arrival["channel"])
        sent = sent_at(facts, state.channel, arrival["position"])
        if state.watermark < limit:
            return [*causes, *_not_waited_for(facts, state, states, arrival)]
        sender = state.channel.source_task
        watermark = _overtaker(facts, state, limit, arrival)
        cause, origin = _behind_watermark(facts, state, watermark)
        causes.append(cause)
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


def _behind_watermark(facts: RunFacts, state: ChannelState, watermark: Row) -> tuple[Cause, Row | None]:
    """The cause, and the watermark as its sender recorded it."""

    def made() -> tuple[Cause, Row | None]:
        text = Sentence(
            f"The record came over {facts.from_(state.channel)}, behind watermark ",
            EventTime(watermark["timestamp"]),
            f" of that channel, which {facts.task(state.channel.source_task)} had sent before it.",
        )
        cause = Cause(text, ("8.18", "I7.b"), place_of(watermark), channel=state.channel.channel)
        return cause, sent_at(facts, state.channel, watermark["position"])

    return facts.shared(("behind watermark", watermark["seq"]), watermark["task"], made)


def _overtaker(facts: RunFacts, state: ChannelState, limit: int, arrival: Row) -> Row:
    """The last watermark of a channel that reached the limit."""
    channel, kind = state.channel.channel, ElementKind.WATERMARK
    marks = facts.rows_with("received", arrival["task"], channel=channel, kind=kind).before(arrival["seq"])
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
    row, cause = facts.shared(("made", origin["seq"]), task, lambda: _generated(facts, task, operator, origin))
    if row is None or cause is None:
        return []
    return [cause, *_record_behind(facts, state, operator, row, sent, limit)]


def _generated(facts: RunFacts, task: int, operator: Operator, origin: Row) -> tuple[Row | None, Cause | None]:
    row = generated(facts, task, operator, ElementKind.WATERMARK, origin["timestamp"], origin["seq"])
    return row, None if row is None else watermark_cause(facts, task, operator, row)


def _record_behind(
    facts: RunFacts, state: ChannelState, operator: Operator, row: Row, sent: Row, limit: int
) -> list[Cause]:
    """Why a record was behind a watermark that its own task generated: its split, or the bound."""
    task, channel = state.channel.source_task, state.channel.channel
    splits = splits_of(facts, task, operator, row["seq"])
    if splits:
        split = split_of_record(facts, task, operator, sent)
        if split is None:
            return []
        own = next((one for one in splits if one.index == split), None)
        name = split_name(facts, task, operator, split)
        if own is None or own.is_over or own.is_idle:
            why_not = f"The record is of {name}, which did not hold back this watermark: {_why_not(operator, own)}."
            return [Cause(why_not, ("8.6",), place_of(sent), tuple(one.text() for one in splits), channel)]
        if own.watermark < row["timestamp"]:
            return []
    delay = delay_of(operator)
    if delay is None or row["timestamp"] == MAX_WATERMARK:
        return []
    # With another bound every watermark of the strategy moves by the difference.
    bound, needed = delay - 1, delay + row["timestamp"] - limit
    in_time = Sentence(". With a bound of at least ", EventTimeSpan(needed), " it would have been in time.")
    behind = row["max_timestamp"] - sent["timestamp"]
    if splits or behind <= 0:
        text = Sentence(f"The bound of {operator.name} is ", EventTimeSpan(bound), in_time)
    else:
        text = Sentence(
            "The record is ",
            EventTimeSpan(behind),
            f" behind the highest timestamp that {operator.name} had seen, but the bound allows ",
            EventTimeSpan(bound),
            in_time,
        )
    return [Cause(text, ("8.1",), place_of(sent), channel=channel)]


def _why_not(operator: Operator, split: Split | None) -> str:
    if is_sequential(operator):
        return "a subtask reads its files one after the other, and only the one that it reads counts"
    if split is None:
        return "it had no watermark and no status yet"
    return "it was idle" if split.is_idle else "the source did not wait for it"


def _not_waited_for(facts: RunFacts, state: ChannelState, states: list[ChannelState], arrival: Row) -> list[Cause]:
    """The channel of the record itself was behind, so the input did not wait for it."""
    sender = state.channel.source_task
    others = tuple(one.text(facts) for one in states if one is not state)
    if state.status_row is None:
        text = Sentence(f"The record came over {facts.from_(state.channel)} (", state.status(facts), ").")
        return [Cause(text, ("8.9",), place_of(arrival), others, state.channel.channel)]
    idle = _idle_row(facts, state, arrival)
    own = Sentence("which has no watermark")
    if state.watermark != NO_TIMESTAMP:
        own = Sentence("whose own watermark is only ", EventTime(state.watermark))
    text = Sentence(
        f"The record came over {facts.from_(state.channel)}, ",
        own,
        ". But that channel was idle from ",
        facts.since_start(idle),
        " on, so the watermark did not wait for it",
    )
    if not state.is_idle:
        at = facts.since_start(state.status_row)
        text = Sentence(text, "; it became active again at ", at, ", behind the watermark")
    several = len({one.channel.input for one in states}) > 1
    rules = ("8.10" if state.is_idle else "8.11", "8.16" if several else "8.13")
    causes = [Cause(Sentence(text, "."), rules, place_of(idle), others, state.channel.channel)]
    sent = sent_at(facts, state.channel, idle["position"])
    if sent is None:
        return causes
    operator = generator_of(facts, state.channel)
    row = None
    if operator is not None:
        row = generated(facts, sender, operator, ElementKind.STATUS, -1, sent["seq"])
    if row is not None and operator is not None:
        causes.append(idle_cause(facts, sender, operator, row))
    elif operator is None and not facts.graph.tasks[sender].inputs:
        declared = f"{facts.task(sender)} itself declared that it is idle."
        causes.append(Cause(declared, ("8.10",), place_of(sent), channel=state.channel.channel))
    return [*causes, *_not_announced(facts, state, sent, arrival)]


def _not_announced(facts: RunFacts, state: ChannelState, idle: Row, arrival: Row) -> list[Cause]:
    """Records that a sender has sent since it was idle, before it announced that it is active (rule 8.5)."""
    channel, sender = state.channel, state.channel.source_task
    sent = facts.whole.rows("sent", sender).equal(channel=channel.channel).after(idle["seq"])
    records = sent.equal(kind=ElementKind.RECORD)
    records = records.where(records["position"] <= arrival["position"])
    active = sent.equal(kind=ElementKind.STATUS, timestamp=0).first()
    first = records.first()
    if not state.is_idle or first is None:
        return []
    when = Sentence("the recording shows no such status")
    if active is not None:
        when = Sentence("it did so at ", facts.since_start(active))
    text = Sentence(
        f"{facts.task(sender)} sent ",
        RecordCount(len(records)),
        " on this channel since it was idle, from ",
        facts.since_start(first),
        " on, this record included. But an idle output becomes active only with its next watermark, which must be above its "
        "last one: ",
        when,
        ".",
    )
    place = place_of(first if active is None else active)
    return [Cause(text, ("8.5",), place, channel=channel.channel)]


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
