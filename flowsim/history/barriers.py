"""The barriers of checkpoints in channels: written, read, what they overtake, and the channels that they block (section 12)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from flowsim.facts.kinds import AlignmentType, BufferKind, BufferSide, CheckpointStep, CreditKind, ElementKind
from flowsim.history.checkpoints import RecordedCheckpoint
from flowsim.history.recorded_facts import RecordedFacts
from flowsim.history.rows import Row, Rows
from flowsim.laws.job_graph import Channel

_BARRIERS: Final = (ElementKind.CHECKPOINT_BARRIER, ElementKind.UNALIGNED_BARRIER)
_OVER: Final = (CheckpointStep.ALIGNMENT_END, CheckpointStep.DECLINE, CheckpointStep.NOTIFY_ABORTED)
"""The steps that end an alignment."""


@dataclass(frozen=True, slots=True)
class Barrier:
    """The barrier of a checkpoint on a channel, up to the moment of the facts."""

    channel: Channel
    sent: Row | None
    received: Row | None
    is_early: bool
    """True if the receiver took its snapshot without waiting for this barrier."""

    @property
    def overtaken(self) -> int:
        """The number of elements that were written before it and are read behind it."""
        if self.sent is None or self.received is None:
            return 0
        return self.sent["position"] - self.received["position"]

    @property
    def wait_ns(self) -> int:
        return 0 if self.sent is None or self.received is None else self.received["time_ns"] - self.sent["time_ns"]


def written_checkpoints(facts: RecordedFacts, edge: int) -> set[int]:
    """The checkpoints whose barriers were written to an exchange."""
    channels = [channel for channel in facts.graph.channels.values() if channel.edge == edge]
    found: set[int] = set()
    for task in {channel.source_task for channel in channels}:
        for rows in facts.rows_of_attempts("sent", task):
            barriers = np.isin(rows["kind"], _BARRIERS) & np.isin(rows["channel"], [one.channel for one in channels])
            found.update(rows["timestamp"][barriers].tolist())
    return found


def barriers_of(facts: RecordedFacts, edge: int, checkpoint: RecordedCheckpoint) -> list[Barrier]:
    """The barriers of a checkpoint on the channels of an exchange."""
    whole = facts.until(checkpoint.triggered_ns).whole
    found = []
    for channel in facts.graph.channels.values():
        if channel.edge == edge:
            sent = barrier_of(facts, whole.rows("sent", channel.source_task), channel, checkpoint)
            received = barrier_of(facts, whole.rows("received", channel.target_task), channel, checkpoint)
            steps = so_far(facts, whole.rows("checkpoint_steps", channel.target_task))
            found.append(
                Barrier(channel, sent, received, _is_early(steps.equal(checkpoint=checkpoint.checkpoint), received))
            )
    return found


def _is_early(steps: Rows, received: Row | None) -> bool:
    """Whether a receiver took its snapshot before its last barrier, and before it read this one.

    Not one that the coordinator triggered, because its senders have finished: it waits for no barrier (rule 12.35).
    """
    snapshot = steps.equal(step=CheckpointStep.SYNC_START).first()
    last = steps.equal(step=CheckpointStep.ALIGNMENT_END).first()
    if snapshot is None or not len(steps.equal(step=CheckpointStep.ALIGNMENT_START)):
        return False
    if last is not None and last["seq"] < snapshot["seq"]:
        return False
    return received is None or received["seq"] > snapshot["seq"]


def barrier_of(facts: RecordedFacts, rows: Rows, channel: Channel, checkpoint: RecordedCheckpoint) -> Row | None:
    of_channel = so_far(facts, rows).equal(channel=channel.channel, timestamp=checkpoint.checkpoint)
    return next((row for row in of_channel if row["kind"] in _BARRIERS), None)


def so_far(facts: RecordedFacts, rows: Rows) -> Rows:
    return rows if facts.until_ns is None else rows.where(rows["time_ns"] <= facts.until_ns)


def blocking_barrier(facts: RecordedFacts, channel: Channel) -> Row | None:
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


def blocking_event(facts: RecordedFacts, channel: Channel) -> tuple[Row, Row | None] | None:
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


def _blocks_nothing(facts: RecordedFacts, checkpoint: int) -> bool:
    """Whether a checkpoint has the mode AT_LEAST_ONCE (rule 12.16)."""
    found = facts.checkpoints().checkpoints.get(checkpoint)
    return found is not None and found.alignment is AlignmentType.AT_LEAST_ONCE
