"""How a watermark came to be ahead of a record: from the task that found the record late, up to the cause."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flowsim.facts.kinds import ElementKind
from flowsim.history.rows import alike, last_with
from flowsim.history.splits import Split, is_sequential, split_of_record, splits_of
from flowsim.history.valve import ChannelState, channel_history, channel_states
from flowsim.history.watermark_strategies import delay_of, generated, generator_of
from flowsim.laws.job_graph import Channel, Operator
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP
from flowsim.why.alike_causes import AlikeCauses, Chains
from flowsim.why.answer import Cause
from flowsim.why.event_time.channel_texts import channel_text, status_text
from flowsim.why.event_time.generators import add_watermark_causes, idle_cause, sent_at
from flowsim.why.event_time.late_results import add_result_causes
from flowsim.why.event_time.split_texts import split_lines, split_name
from flowsim.why.run_facts import ONE_FOR_ONE, Ints, Mask, Row, Rows, RunFacts, place_of
from flowsim.why.sentence import EventTime, EventTimeSpan, Number, RecordCount, Sentence


@dataclass(frozen=True, slots=True)
class Behind:
    """Records that a task handled, each of which was behind a watermark that had reached a limit."""

    chains: Ints
    """The numbers of their chains."""
    seqs: Ints
    """The fact before which the task had received the record."""
    limits: Ints

    def some(self, which: Ints | Mask) -> Behind:
        return Behind(self.chains[which], self.seqs[which], self.limits[which])


def add_overtaking_causes(chains: Chains, facts: RunFacts, task: int, behind: Behind) -> None:
    """Continues the chains with why the watermark had reached the limits when the task handled the records."""
    received = facts.rows_with("received", task, kind=ElementKind.RECORD)
    at = received["seq"].searchsorted(behind.seqs) - 1
    behind, arrivals = behind.some(at >= 0), received.in_order(at[at >= 0])
    for which in alike(arrivals["channel"]):
        _add_of_channel(chains, facts, task, behind.some(which), arrivals.in_order(which))


def _add_of_channel(chains: Chains, facts: RunFacts, task: int, behind: Behind, arrivals: Rows) -> None:
    """``arrivals``: the records as the task received them, over one channel."""
    number = arrivals.row(0)["channel"]
    (state,) = channel_history(facts, task).states(arrivals["seq"], number)
    channel, not_waited_for = state.channel, np.flatnonzero(state.watermark < behind.limits)
    causes = [_not_waited_for(facts, task, arrivals.row(one)) for one in not_waited_for.tolist()]
    chains.add_all(behind.chains[not_waited_for], causes)
    ahead = state.watermark >= behind.limits
    behind, arrivals = behind.some(ahead), arrivals.where(ahead)
    if not len(arrivals):
        return
    watermarks = _overtakers(facts, task, number, behind, arrivals)
    sender = channel.source_task
    text = Sentence(
        f"The record came over {facts.from_(channel)}, behind watermark ",
        EventTime(watermarks["timestamp"]),
        f" of that channel, which {facts.task(sender)} had sent before it.",
    )
    chains.add(behind.chains, AlikeCauses(text, ("8.18", "I7.b"), watermarks, channel=number))
    sent, origins = (_numbers_of_sent(facts, channel, rows["position"]) for rows in (arrivals, watermarks))
    known = (sent >= 0) & (origins >= 0)
    behind, rows = behind.some(known), facts.rows_with("sent", sender, channel=number)
    records, origin = rows.in_order(sent[known]), rows.in_order(origins[known])
    passed = ~_add_makers(chains, facts, channel, behind, records, origin)
    behind, records = behind.some(passed), records.where(passed)
    if not len(records):
        return
    if not {operator.kind for operator in facts.operators_of(sender)} <= ONE_FOR_ONE:
        result = f"{facts.task(sender)} emitted the record as a result, after it had forwarded the watermark."
        chains.add(behind.chains, AlikeCauses(Sentence(result), ("8.15",), records))
        passed = add_result_causes(chains, facts, sender, behind.chains, records)
        behind, records = behind.some(passed), records.where(passed)
    add_overtaking_causes(chains, facts, sender, Behind(behind.chains, records["seq"], behind.limits))


def _overtakers(facts: RunFacts, task: int, channel: int, behind: Behind, arrivals: Rows) -> Rows:
    """For each record the last watermark of its channel that reached the limit."""
    marks = facts.rows_with("received", task, channel=channel, kind=ElementKind.WATERMARK)
    timestamps, at = marks["timestamp"], marks["seq"].searchsorted(arrivals["seq"]) - 1
    while (lower := timestamps[at] < behind.limits).any():
        at = at - lower
    return marks.in_order(at)


def _numbers_of_sent(facts: RunFacts, channel: Channel, positions: Ints) -> Ints:
    """For each position of a channel the number of its element among those that the sender recorded; -1: not recorded."""
    rows = facts.rows_with("sent", channel.source_task, channel=channel.channel)
    return last_with(rows["position"], positions, np.full(len(positions), len(rows)))


def _add_makers(
    chains: Chains, facts: RunFacts, channel: Channel, behind: Behind, records: Rows, origins: Rows
) -> Mask:
    """The strategy or source in the sender's chain that made the watermarks; returns which ones did not pass through.

    ``records`` and ``origins``: rows of table ``sent``, the late records and the watermarks before them.
    """
    task, operator = channel.source_task, generator_of(facts, channel)
    if operator is None:
        is_own: Mask = np.full(len(origins), not facts.graph.tasks[task].inputs)
        if is_own.any():
            text = Sentence(
                f"{facts.task(task)} itself emitted watermark ",
                EventTime(origins["timestamp"]),
                ", and then the record. A source that emits its own watermarks must not emit them ahead of its records.",
            )
            chains.add(behind.chains, AlikeCauses(text, ("8.18",), origins, channel=channel.channel))
        return is_own
    number, kind = operator.operator, ElementKind.WATERMARK
    rows = facts.rows_with("generated_watermark", task, operator=number, split=-1, kind=kind)
    at = last_with(rows["timestamp"], origins["timestamp"], rows["seq"].searchsorted(origins["seq"]))
    found = at >= 0
    if found.any():
        behind, made = behind.some(found), rows.in_order(at[found])
        add_watermark_causes(chains, behind.chains, facts, task, operator, made)
        _add_reasons(chains, facts, channel, operator, behind, made, records.where(found))
    return found


def _add_reasons(
    chains: Chains, facts: RunFacts, channel: Channel, operator: Operator, behind: Behind, made: Rows, records: Rows
) -> None:
    """Why records were behind watermarks that their own task generated: their split, or the bound."""
    if splits_of(facts, channel.source_task, operator):
        late = zip(made, records, behind.limits.tolist(), strict=True)
        reasons = [_reason_of_split(facts, channel, operator, row, sent, limit) for row, sent, limit in late]
        chains.add_all(behind.chains, [[] if reason is None else [reason] for reason in reasons])
        return
    if delay_of(operator) is None:
        return
    is_last, is_behind = made["timestamp"] == MAX_WATERMARK, made["max_timestamp"] > records["timestamp"]
    for which in alike(is_last, is_behind):
        if not is_last[which[0]]:
            rows, sent = made.in_order(which), records.in_order(which)
            text = _bound_text(operator, rows, sent, behind.limits[which], is_behind=bool(is_behind[which[0]]))
            chains.add(behind.chains[which], AlikeCauses(text, ("8.1",), sent, channel=channel.channel))


def _bound_text(operator: Operator, row: Row | Rows, sent: Row | Rows, limit: Number, *, is_behind: bool) -> Sentence:
    """``is_behind``: whether the record is known to be behind the highest timestamp that the strategy had seen."""
    delay = delay_of(operator) or 0
    # With another bound every watermark of the strategy moves by the difference.
    bound, needed = EventTimeSpan(delay - 1), EventTimeSpan(delay + row["timestamp"] - limit)
    in_time = Sentence(". With a bound of at least ", needed, " it would have been in time.")
    if not is_behind:
        return Sentence(f"The bound of {operator.name} is ", bound, in_time)
    highest = EventTimeSpan(row["max_timestamp"] - sent["timestamp"])
    seen = f" behind the highest timestamp that {operator.name} had seen, but the bound allows "
    return Sentence("The record is ", highest, seen, bound, in_time)


def _reason_of_split(
    facts: RunFacts, channel: Channel, operator: Operator, row: Row, sent: Row, limit: int
) -> Cause | None:
    """Why a record of a source with splits was behind; None if the recording does not show it."""
    task, splits = channel.source_task, splits_of(facts, channel.source_task, operator, row["seq"])
    split = split_of_record(facts, task, operator, sent)
    if split is None:
        return None
    own = next((one for one in splits if one.index == split), None)
    name = split_name(facts, task, operator, split)
    if own is None or own.is_over or own.is_idle:
        why_not = f"The record is of {name}, which did not hold back this watermark: {_why_not(operator, own)}."
        return Cause(why_not, ("8.6",), place_of(sent), split_lines(facts, task, operator, splits), channel.channel)
    if own.watermark < row["timestamp"] or delay_of(operator) is None or row["timestamp"] == MAX_WATERMARK:
        return None
    text = _bound_text(operator, row, sent, limit, is_behind=False)
    return Cause(text, ("8.1",), place_of(sent), channel=channel.channel)


def _why_not(operator: Operator, split: Split | None) -> str:
    if is_sequential(operator):
        return "a subtask reads its files one after the other, and only the one that it reads counts"
    if split is None:
        return "it had no watermark and no status yet"
    return "it was idle" if split.is_idle else "the source did not wait for it"


def _not_waited_for(facts: RunFacts, task: int, arrival: Row) -> list[Cause]:
    """The channel of the record itself was behind, so the input did not wait for it."""
    states = channel_states(facts, task, arrival["seq"])
    state = next(one for one in states if one.channel.channel == arrival["channel"])
    sender = state.channel.source_task
    others = tuple(channel_text(facts, one) for one in states if one is not state)
    if state.status_row is None:
        text = Sentence(f"The record came over {facts.from_(state.channel)} (", status_text(facts, state), ").")
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
