"""The clock of one task inside a batch (architecture decision D4)."""

from __future__ import annotations

from typing import Protocol

from mypy_extensions import i64, mypyc_attr


class Clock(Protocol):
    """The clock of a task: integer nanoseconds (rule 0.5: above 0)."""

    @property
    def now_ns(self) -> int: ...


@mypyc_attr(allow_interpreted_subclasses=True)
class TaskClock:
    """Loop time plus the cost of the running batch so far, in nanoseconds.

    Operators add their cost to ``now_ns``; loops that emit stop when ``now_ns`` reaches ``batch_end_ns``: a timer is
    due, a mail waits, the output is full or the budget is used up.
    """

    __slots__ = ("now_ns", "batch_end_ns")

    now_ns: i64
    batch_end_ns: i64

    def __init__(self, now_ns: int) -> None:
        self.now_ns = now_ns
        self.batch_end_ns = 0

    def interrupt(self) -> None:
        """Stops emitting after the current element; called when a mail waits or the output is full (rule 4.8)."""
        self.batch_end_ns = 0
