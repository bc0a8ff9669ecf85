"""Where the elements of a channel are: in the sender's queue, on the wire, in the receiver's buffers (sections 5.D and 6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from flowsim.facts.kinds import WITHOUT_POSITION, BufferKind, BufferSide, CreditKind
from flowsim.history.channel_counters import GOT, LEAVES_QUEUE
from flowsim.history.recorded_facts import RecordedFacts
from flowsim.history.rows import Row, Rows
from flowsim.laws.job_graph import Channel

_MOVED: Final = (BufferSide.QUEUED, *LEAVES_QUEUE)
"""Steps of a buffer in its queue, from the writer to the wire."""


@dataclass(frozen=True, slots=True)
class ChannelFlow:
    """The counts of one channel at a moment. ``credits``: None for a local channel or below level full."""

    channel: Channel
    sent: int
    """Elements and events that the sender wrote."""
    received: int
    """Elements and events that the receiver read."""
    queued: int
    """Data buffers in the sender's queue."""
    unsent: int
    """Those of them with data that was not sent."""
    wire: int
    """Buffers and events that were sent and have not arrived."""
    held: int
    """Data buffers of the receiver that have arrived and are not recycled."""
    credits: int | None
    last_sent: Row | None
    """The last buffer or event that left the sender (table ``buffers``)."""
    announced: int
    """Credits that the receiver has announced and the sender has not got."""
    last_flush: Row | None
    """The last flush of the sender's queue, if it came after the last buffer was queued or sent."""

    @property
    def in_flight(self) -> int:
        return self.sent - self.received


def counted(rows: Rows) -> Rows:
    """The rows of table ``sent`` or ``received`` that have a position of their own on their channel."""
    without = np.isin(rows["kind"], WITHOUT_POSITION)
    return rows.where(~without & (rows["position"] >= 0))


def flow_of(facts: RecordedFacts, channel: Channel) -> ChannelFlow:
    """The counts at the moment of the facts; below level full only those of elements."""
    sent = counted(facts.rows("sent", channel.source_task).equal(channel=channel.channel))
    received = counted(facts.rows("received", channel.target_task).equal(channel=channel.channel))
    if not facts.has("buffers"):
        return ChannelFlow(channel, len(sent), len(received), 0, 0, 0, 0, None, None, 0, None)
    written = facts.rows("buffers", channel.source_task).equal(channel=channel.channel)
    ours = _since_request(facts, channel, written)
    theirs = facts.rows("buffers", channel.target_task).equal(channel=channel.channel)
    data = ours.equal(kind=BufferKind.DATA)
    if channel.local:
        # Rule 6.17: the receiver reads the sender's queue, and no fact says that a buffer left it.
        read = len(theirs.equal(side=BufferSide.RECEIVED, kind=BufferKind.DATA))
        queued = max(0, len(written.equal(side=BufferSide.QUEUED, kind=BufferKind.DATA)) - read)
        return ChannelFlow(channel, len(sent), len(received), queued, queued, 0, 0, None, None, 0, _last_flush(ours))
    gone = data.where(np.isin(data["side"], LEAVES_QUEUE) & (data["whole"] == 1))
    out, arrived = ours.equal(side=BufferSide.SENT), theirs.equal(side=BufferSide.RECEIVED)
    held = len(arrived.equal(kind=BufferKind.DATA)) - len(theirs.equal(side=BufferSide.RECYCLED))
    queued = len(written.equal(side=BufferSide.QUEUED, kind=BufferKind.DATA)) - len(gone)
    return ChannelFlow(
        channel, len(sent), len(received), queued, queued - _is_tail_read(data, sent), len(out) - len(arrived), held,
        _credits(facts, channel, out.last()), out.last(), _announced(facts, channel), _last_flush(ours),
    )  # fmt: skip


def _since_request(facts: RecordedFacts, channel: Channel, rows: Rows) -> Rows:
    """The rows of a sender about a channel since the attempt of the receiver requested it.

    Each attempt of a receiver reads the whole partition of a blocking exchange again, which one attempt of the sender wrote.
    """
    attempt = facts.attempt_of(channel.target_task)
    if not attempt or facts.graph.edges[channel.edge].exchange != "BLOCKING":
        return rows
    history = facts.graph.history.restarts
    start_ns = max(row.time_ns for row in history if (row.task_id, row.attempt) == (channel.target_task, attempt))
    credits = facts.rows("credits", channel.source_task).equal(channel=channel.channel, kind=CreditKind.INITIAL_GOT)
    request = credits.where(credits["time_ns"] >= start_ns).first()
    return rows.cut(0, 0) if request is None else rows.after(request["seq"] - 1)


def _last_flush(ours: Rows) -> Row | None:
    """The last flush of a sender's queue, if it came after the last buffer was queued or sent."""
    flush = ours.equal(side=BufferSide.FLUSHED).last()
    last = ours.where(np.isin(ours["side"], [BufferSide.SENT, BufferSide.QUEUED])).last()
    return None if flush is not None and last is not None and flush["seq"] < last["seq"] else flush


def _is_tail_read(data: Rows, sent: Rows) -> bool:
    """Whether the last buffer of the queue is unfinished, and all that was written into it so far has been read."""
    last, element = data.where(np.isin(data["side"], _MOVED)).last(), sent.last()
    is_partial = last is not None and last["side"] == BufferSide.SENT and not last["whole"]
    return is_partial and last is not None and (element is None or element["seq"] < last["seq"])


def _credits(facts: RecordedFacts, channel: Channel, sent: Row | None) -> int:
    """The sender's credits: after its last buffer, or after the credits that came since."""
    credits = _since_request(facts, channel, facts.rows("credits", channel.source_task).equal(channel=channel.channel))
    got = credits.where(np.isin(credits["kind"], GOT)).last()
    rows = [(row["seq"], row["credits" if row is sent else "balance"]) for row in (sent, got) if row is not None]
    return max(rows, default=(0, 0))[1]


def _announced(facts: RecordedFacts, channel: Channel) -> int:
    """The credits that are on their way to the sender."""
    ours = _since_request(facts, channel, facts.rows("credits", channel.source_task).equal(channel=channel.channel))
    theirs = facts.rows("credits", channel.target_task).equal(channel=channel.channel)
    given = theirs.where(np.isin(theirs["kind"], [CreditKind.INITIAL_GRANTED, CreditKind.ANNOUNCED]))["credits"].sum()
    got = ours.where(np.isin(ours["kind"], GOT))["credits"].sum()
    return max(0, int(given - got))


def is_requested(facts: RecordedFacts, channel: Channel) -> bool:
    """Whether the sender of a remote channel has got the request for its partition, with the first credits (rule 12.92)."""
    rows = facts.rows("credits", channel.source_task).equal(channel=channel.channel, kind=CreditKind.INITIAL_GOT)
    return bool(channel.local) or not facts.has("credits") or len(_since_request(facts, channel, rows)) > 0
