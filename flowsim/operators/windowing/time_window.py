"""A stretch of event or processing time. Flink: TimeWindow (rule 10.1)."""

from __future__ import annotations

from typing import NamedTuple


class TimeWindow(NamedTuple):
    """Milliseconds from ``start`` (inclusive) to ``end`` (exclusive). Flink: TimeWindow.

    A value: two windows with the same bounds are the same window, so it can be the namespace of timers and state.
    """

    start: int
    end: int

    def max_timestamp(self) -> int:
        """The last millisecond that belongs to the window."""
        return self.end - 1


def window_start_with_offset(timestamp: int, offset: int, window_size: int) -> int:
    """Start of the window of ``window_size`` ms that contains ``timestamp`` (rule 10.1).

    >>> window_start_with_offset(-6, 0, 5)
    -10
    """
    return timestamp - (timestamp - offset) % window_size
