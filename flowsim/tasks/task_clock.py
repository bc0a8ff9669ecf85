"""The time of one task inside a batch of work (architecture decision D4)."""

from __future__ import annotations


class TaskClock:
    """Loop time plus the cost of the work done in the running batch, in nanoseconds.

    Operators add their cost to ``now_ns``; whoever emits in a loop stops once ``now_ns`` reaches ``batch_end_ns``.
    """

    __slots__ = ("now_ns", "batch_end_ns")

    def __init__(self, now_ns: int) -> None:
        self.now_ns = now_ns
        self.batch_end_ns = 0

    def interrupt(self) -> None:
        """A mail waits or the output is full: emitting stops after the current element (rule 4.8)."""
        self.batch_end_ns = 0
