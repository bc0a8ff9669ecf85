"""A stretch of event or processing time. Flink: TimeWindow (rules 10.1, 10.5)."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Final, NamedTuple

from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP
from flowsim.values.java_hash_map import JavaHashMap
from flowsim.values.java_long import wrapped

if TYPE_CHECKING:
    from flowsim.operators.windowing.assigners.window_assigner import MergeCallback

FAR: Final = 2**62
"""Sums and differences of times and lengths below this do not wrap around."""

_LONG: Final = 0xFFFFFFFFFFFFFFFF


class TimeWindow(NamedTuple):
    """Milliseconds from ``start`` (inclusive) to ``end`` (exclusive). Flink: TimeWindow.

    A value: two windows with the same bounds are the same window, so it can be the namespace of timers and state. Bounds
    are Java's longs: what would lie behind the greatest of them wraps around to the least.
    """

    start: int
    end: int

    def max_timestamp(self) -> int:
        """The last millisecond that belongs to the window."""
        end = self.end
        return end - 1 if end != NO_TIMESTAMP else MAX_WATERMARK

    def intersects(self, other: TimeWindow) -> bool:
        """Whether the two overlap or touch, so that sessions merge."""
        return self.start <= other.end and self.end >= other.start

    def cover(self, other: TimeWindow) -> TimeWindow:
        """The least window that both lie in."""
        return TimeWindow(min(self.start, other.start), max(self.end, other.end))

    def java_hash(self) -> int:
        """Java's hash code, which decides where a set of windows begins.

        >>> TimeWindow(0, 10).java_hash()
        -1456339591
        """
        mixed = (self.start + self.end) & _LONG
        mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _LONG
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _LONG
        low = (mixed ^ (mixed >> 31)) & 0xFFFFFFFF
        return low - 0x100000000 if low & 0x80000000 else low

    @staticmethod
    def get_window_start_with_offset(timestamp: int, offset: int, window_size: int) -> int:
        """Start of the window of ``window_size`` ms that contains ``timestamp``, where windows begin at ``offset``.

        >>> TimeWindow.get_window_start_with_offset(-6, 0, 5)
        -10
        """
        return window_start_with_offset(timestamp, offset, window_size)

    @staticmethod
    def merge_windows(windows: Collection[TimeWindow], callback: MergeCallback) -> None:
        """Tells the callback of each group of windows that overlap or touch, and of the window that covers them.

        A group's windows come in the order of a Java HashSet: the first of them may decide where contents stay.
        """
        groups: list[tuple[TimeWindow, list[TimeWindow]]] = []
        for window in sorted(windows, key=_start):
            if groups and groups[-1][0].intersects(window):
                covered, members = groups[-1]
                members.append(window)
                groups[-1] = (covered.cover(window), members)
            else:
                groups.append((window, [window]))
        for covered, members in groups:
            if len(members) > 1:
                different = _as_hash_set(members)
                if len(different) > 1:
                    callback.merge(different, covered)


def window_start_with_offset(timestamp: int, offset: int, window_size: int) -> int:
    """``TimeWindow.get_window_start_with_offset`` as a function (rule 10.1)."""
    distance = wrapped(timestamp - offset)
    start = timestamp - distance % window_size
    return start if start >= NO_TIMESTAMP else wrapped(start)


def window_from(start: int, size: int) -> TimeWindow:
    """The window of ``size`` ms that begins at ``start``."""
    end = start + size
    return TimeWindow(start, end if end <= MAX_WATERMARK else wrapped(end))


def _start(window: TimeWindow) -> int:
    return window.start


def _as_hash_set(windows: list[TimeWindow]) -> list[TimeWindow]:
    """The different ones among them, as a HashSet gives them out that they were added to in this order."""
    together: JavaHashMap[TimeWindow, bool] = JavaHashMap(TimeWindow.java_hash)
    for window in windows:
        together.put(window, True)
    return list(together)
