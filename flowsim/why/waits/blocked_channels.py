"""Channels that the alignment of a checkpoint blocks, at the receiver and at the sender (rules 5.27, 12.11)."""

from __future__ import annotations

from collections.abc import Sequence

from flowsim.history.barriers import blocking_barrier, blocking_event
from flowsim.laws.job_graph import Channel
from flowsim.quantities import count_text
from flowsim.why.answer import Cause
from flowsim.why.run_facts import Row, RunFacts, place_of


def blocked_sender(facts: RunFacts, channel: Channel) -> tuple[str, tuple[str, ...], Row] | None:
    """Why a sender sends nothing although it may have credits, as a sentence, with its rules and a fact; None: it can send."""
    sender, receiver = facts.task(channel.source_task), facts.task(channel.target_task)
    barrier = blocking_barrier(facts, channel)
    if barrier is not None:
        text = (
            f"{receiver} has blocked the channel since it read the barrier of checkpoint {barrier['timestamp']} at "
            f"{facts.moment(barrier['time_ns'])}: until its alignment ends, {sender} sends nothing on it."
        )
        return text, ("5.27", "12.11"), barrier
    found = blocking_event(facts, channel)
    if found is None:
        return None
    event, written = found
    what, when, rule = "the end of the output that it restored", "it has read that far on all its channels", "12.92"
    if written is not None:
        what, when, rule = f"the barrier of checkpoint {written['timestamp']}", "its alignment has ended", "12.11"
    text = (
        f"{sender} has sent {what}, which it queued at {facts.moment(event['time_ns'])}. Behind it, {sender} sends nothing until "
        f"a request to resume the channel arrives, which {receiver} sends when {when}."
    )
    return text, ("5.27", rule), event


def alignment_cause(facts: RunFacts, blocked: Sequence[tuple[Channel, Row]], others: Sequence[Channel]) -> Cause:
    """The channels of one task that wait for the barrier on its other channels."""
    first = min((row for _, row in blocked), key=lambda row: row["seq"])
    task, checkpoint = first["task"], first["timestamp"]
    one = len(blocked) == 1
    text = (
        f"{facts.task(task)} aligns checkpoint {checkpoint} since {facts.moment(first['time_ns'])}: it has blocked "
        f"{count_text(len(blocked), 'channel')} on which the barrier came, and reads {'it' if one else 'them'} again when the "
        f"barrier has come on {count_text(len(others), 'other channel')}, or the checkpoint is aborted."
    )
    lines = [f"{facts.from_(channel)}: barrier at {facts.moment(row['time_ns'])}" for channel, row in blocked]
    lines += [f"{facts.from_(channel)}: no barrier so far" for channel in others]
    return Cause(text, ("12.11", "5.27"), place_of(first), tuple(lines), blocked[0][0].channel)
