"""Channels that an alignment blocks (rule 12.11)."""

from __future__ import annotations

from flowsim.facts.kinds import BufferKind, BufferSide, CheckpointStep, CreditKind, ElementKind
from tests.support.truth.recorded_run import RecordedRun, Row
from tests.support.why_truth import Claim

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


SENT_EVENT = (
    r"{a:T} has sent (?:the end of the output that it restored|the barrier of checkpoint {c:N}), which it queued at {q:M}\. "
    r"Behind it, {b:T} sends nothing until a request to resume the channel arrives, which {r:T} sends when (?:its alignment has "
    r"ended|it has read that far on all its channels)\."
)


def sends_nothing(run: RecordedRun, channel: Row, now: int) -> bool:
    """Rule 5.27: no data leaves before the sender gets the request to resume the channel."""
    of = {"channel": channel.channel}
    sent = run.after("buffers", channel.source_task, now, side=BufferSide.SENT, kind=BufferKind.DATA, **of)
    resumed = run.after("credits", channel.source_task, now, kind=CreditKind.RESUMED, **of)
    return not sent or (bool(resumed) and resumed[0].seq < sent[0].seq)


def behind_event(claim: Claim, channels: list[Row]) -> bool:
    """The event was queued then and has left; a barrier was written then, and the receiver reads it before it resumes."""
    run, now = claim.run, claim.now
    for channel in channels:
        of = {"channel": channel.channel}
        if channel.target_task != claim.task("r"):
            continue
        events = run.until("buffers", channel.source_task, now, kind=BufferKind.EVENT, **of)
        queued = [row for row in events if row.side == BufferSide.QUEUED and row.time_ns == claim.moment("q")]
        resumed = run.after("credits", channel.source_task, now, kind=CreditKind.RESUMED, **of)
        written = [
            row
            for row in run.until("sent", channel.source_task, now, **of)
            if row.kind in BARRIERS and row.time_ns == claim.moment("q") and queued and row.seq < queued[0].seq
        ]
        assert queued
        assert any(row.side == BufferSide.SENT for row in events)
        assert [claim.number("c")] == [row.timestamp for row in written] if claim["c"] else not written
        if claim["c"] and resumed:
            read = [
                row.time_ns for row in run.all("received", channel.target_task, now)
                if row.channel == channel.channel and row.kind in BARRIERS and row.timestamp == claim.number("c")
            ]  # fmt: skip
            assert read
            assert read[0] <= resumed[0].time_ns
        if sends_nothing(run, channel, now) and claim.task("a") == claim.task("b") == channel.source_task:
            return True
    return False


def not_requested(run: RecordedRun, channels: list[Row], now: int) -> bool:
    """Rule 12.92: no data leaves, and no credit has come."""
    return any(
        not run.until("credits", channel.source_task, now, channel=channel.channel)
        and not run.until("buffers", channel.source_task, now, channel=channel.channel, side=BufferSide.SENT)
        for channel in channels
    )
