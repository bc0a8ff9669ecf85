"""Channels that the alignment of a checkpoint blocks, at the receiver and at the sender (rules 5.27, 12.11)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from flowsim.facts.kinds import (
    AlignmentType,
    BufferKind,
    BufferSide,
    CheckpointStep,
    CreditKind,
    ElementKind,
)
from flowsim.laws.job_graph import Channel
from flowsim.quantities import count_text
from flowsim.why.answer import Cause
from flowsim.why.run_facts import Row, RunFacts, place_of

_BARRIERS = (ElementKind.CHECKPOINT_BARRIER, ElementKind.UNALIGNED_BARRIER)
_OVER = (CheckpointStep.ALIGNMENT_END, CheckpointStep.DECLINE, CheckpointStep.NOTIFY_ABORTED)


def blocking_barrier(facts: RunFacts, channel: Channel) -> Row | None:
    """The barrier that has blocked a channel, if the receiver has not resumed the channel."""
    task = channel.target_task
    rows = facts.rows("received", task).equal(channel=channel.channel)
    last = rows.where(rows["position"] >= 0).last()
    if last is None or last["kind"] not in _BARRIERS:
        return None
    checkpoint = last["timestamp"]
    steps = facts.rows("checkpoint_steps", task)
    ended = steps.where((steps["checkpoint"] == checkpoint) & np.isin(steps["step"], _OVER))
    newer = steps.where(steps["checkpoint"] > checkpoint)
    if len(ended) or len(newer) or _blocks_nothing(facts, checkpoint):
        return None
    if last["kind"] == ElementKind.UNALIGNED_BARRIER and len(
        steps.equal(checkpoint=checkpoint, step=CheckpointStep.SYNC_START)
    ):
        return None
    return last


def _sent_event(facts: RunFacts, channel: Channel) -> tuple[Row, Row | None] | None:
    """The event behind which the sender of a remote channel sends nothing until the receiver resumes the channel.

    Its row of table ``buffers``, and of a barrier that of table ``sent``; without one it is the end of restored output. The
    sender stops when it sends the event, before the receiver reads it (rule 5.27).
    """
    if channel.local or not facts.has("buffers"):
        return None
    ours = facts.rows("buffers", channel.source_task).equal(channel=channel.channel)
    out = ours.equal(side=BufferSide.SENT)
    out = out.where(out["kind"] != BufferKind.PRIORITY_EVENT)
    last = out.last()
    resumed = facts.rows("credits", channel.source_task).equal(channel=channel.channel, kind=CreditKind.RESUMED)
    if last is None or last["kind"] != BufferKind.EVENT or len(resumed.after(last["seq"])):
        return None
    queued = ours.equal(side=BufferSide.QUEUED, kind=BufferKind.EVENT)
    queued = queued.where(~np.isin(queued["number"], ours.equal(side=BufferSide.PRIORITIZED)["number"]))
    number = len(out.equal(kind=BufferKind.EVENT)) - 1
    event, written = queued.row(number), facts.rows("sent", channel.source_task).equal(channel=channel.channel)
    element = written.before(event["seq"]).last()
    if element is None:
        first = written.first()
        restored = queued if first is None else queued.before(first["seq"])
        return (event, None) if number == len(restored) - 1 else None
    if element["kind"] not in _BARRIERS or _blocks_nothing(facts, element["timestamp"]):
        return None
    return event, element


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
    found = _sent_event(facts, channel)
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


def _blocks_nothing(facts: RunFacts, checkpoint: int) -> bool:
    """Whether a checkpoint has the mode AT_LEAST_ONCE (rule 12.16)."""
    found = facts.checkpoints().checkpoints.get(checkpoint)
    return found is not None and found.alignment is AlignmentType.AT_LEAST_ONCE


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
