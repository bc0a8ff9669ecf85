"""Channels that an alignment blocks (rule 12.11)."""

from __future__ import annotations

from flowsim.facts.kinds import (
    CheckpointStep,
    ElementKind,
)
from tests.support.truth.recorded_run import RecordedRun, Row

BARRIERS = (ElementKind.CHECKPOINT_BARRIER, ElementKind.UNALIGNED_BARRIER)


def is_blocked(run: RecordedRun, channel: Row, checkpoint: int, now: int) -> bool:
    """Rule 12.11: nothing is read from the channel until the barrier has come on the others, or another step ends it."""
    task = channel.target_task
    barriers = [
        row
        for row in run.until("received", task, now, channel=channel.channel, timestamp=checkpoint)
        if row.kind in BARRIERS
    ]
    following = run.after("received", task, now, channel=channel.channel)
    if not barriers:
        return False
    over = (CheckpointStep.ALIGNMENT_END, CheckpointStep.DECLINE, CheckpointStep.NOTIFY_ABORTED)
    ends = [
        row
        for row in run.all("checkpoint_steps", task, now)
        if row.seq > barriers[0].seq
        and (row.checkpoint > checkpoint or (row.checkpoint == checkpoint and row.step in over))
    ]
    return not following or (bool(ends) and ends[0].seq < following[0].seq and ends[0].time_ns > now)
