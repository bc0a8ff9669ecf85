"""The counters of a channel: credits, backlog, queue of the sender, and buffers that the receiver holds."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum, auto
from typing import Final

from flowsim.facts.kinds import BufferKind, BufferSide, CreditKind
from flowsim.facts.schema import BUFFERS
from flowsim.recording.merged_facts import Fact

LEAVES_QUEUE: Final = (BufferSide.SENT, BufferSide.SKIPPED)
"""The steps with which a whole buffer leaves the sender's queue."""
GOT: Final = (CreditKind.INITIAL_GOT, CreditKind.GOT)
"""The steps with which credits reach the sender."""
_OF_RECEIVER: Final = (BufferSide.RECEIVED, BufferSide.RECYCLED)


class Counter(Enum):
    """What is counted."""

    CREDITS = auto()
    """Credits of the sender; a local channel has none."""
    BACKLOG = auto()
    """Data buffers in the sender's queue."""
    QUEUE = auto()
    """Buffers and events in the sender's queue."""
    RECEIVED = auto()
    """Data buffers that the receiver holds."""


class ChannelCounters:
    """Counts the facts of one channel, in the order in which sender and receiver recorded theirs."""

    __slots__ = ("_queue", "_received")

    def __init__(self) -> None:
        self._queue = 0
        self._received = 0

    def add(self, fact: Fact) -> Iterator[tuple[Counter, int]]:
        """Yields the counters that a fact of table ``buffers`` or ``credits`` sets, with their new values."""
        if fact.table != BUFFERS.name:
            *_, kind, _, balance = fact.row
            if kind in GOT:
                yield Counter.CREDITS, balance
            return
        _, _, _, _, side, _, kind, _, backlog, credit, whole = fact.row
        if side not in _OF_RECEIVER:
            yield Counter.BACKLOG, backlog
            if side == BufferSide.QUEUED or (side in LEAVES_QUEUE and whole):
                self._queue += 1 if side == BufferSide.QUEUED else -1
                yield Counter.QUEUE, self._queue
            if side == BufferSide.SENT and credit >= 0:
                yield Counter.CREDITS, credit
        elif kind == BufferKind.DATA:
            self._received += 1 if side == BufferSide.RECEIVED else -1
            yield Counter.RECEIVED, self._received
