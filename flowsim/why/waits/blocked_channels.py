"""Channels that the alignment of a checkpoint blocks (rules 5.27, 12.11)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from flowsim.facts.kinds import AlignmentType, CheckpointAction, CheckpointStep, ElementKind
from flowsim.laws.job_graph import Channel
from flowsim.quantities import count_text
from flowsim.why.answer import Cause
from flowsim.why.run_facts import Row, RunFacts, place_of

_OVER = (CheckpointStep.ALIGNMENT_END, CheckpointStep.DECLINE, CheckpointStep.NOTIFY_ABORTED)


def blocking_barrier(facts: RunFacts, channel: Channel) -> Row | None:
    """The barrier that has blocked a channel, if the receiver has not resumed the channel."""
    task = channel.target_task
    rows = facts.rows("received", task).equal(channel=channel.channel)
    last = rows.where(rows["position"] >= 0).last()
    if last is None or last["kind"] not in (ElementKind.CHECKPOINT_BARRIER, ElementKind.UNALIGNED_BARRIER):
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


def _blocks_nothing(facts: RunFacts, checkpoint: int) -> bool:
    """Whether a checkpoint has the mode AT_LEAST_ONCE (rule 12.16)."""
    return any(
        event.checkpoint == checkpoint
        and event.action == CheckpointAction.TRIGGERED
        and event.alignment == AlignmentType.AT_LEAST_ONCE
        for event in facts.graph.history.checkpoints
    )


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
