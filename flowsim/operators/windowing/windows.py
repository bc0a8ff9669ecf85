"""Windows: the base class, time windows, and the global window. Flink: Window, TimeWindow, GlobalWindow.

Rules 10.1, 10.5 and 10.6.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final, NamedTuple, Protocol, TypeVar, final

from flowsim.operators.stream_operator import checked_timestamp
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP
from flowsim.values.java_hash_map import JavaHashMap
from flowsim.values.java_long import wrapped

FAR: Final = 2**62
"""A bound in ms: sums and differences of times below it do not overflow."""

_LONG: Final = 0xFFFFFFFFFFFFFFFF


class Window(Protocol):
    """The base class of windows. Flink: Window.

    Equal windows are the same window, so a window can be the namespace of timers and state.

    A recording shows ``start`` and ``end``, in ms; triggers and cleanup use ``max_timestamp``.
    """

    @property
    def start(self) -> int: ...

    @property
    def end(self) -> int: ...

    def max_timestamp(self) -> Any:
        """Returns the last millisecond that belongs to the window.

        An int; ``check_window`` refuses whatever else a user-defined window returns.
        """

    def java_hash(self) -> int:
        """Returns Java's hash code.

        The hash code orders simultaneous timers of different windows, and the windows of a merge.
        """

    def __hash__(self) -> int: ...


def check_window(window: Window) -> None:
    """Raises BadInput unless the window, which may be user-defined, ends at a 64-bit integer (ms).

    Results have this timestamp, and timers use it. The function is called once per window and key.
    """
    timestamp = window.max_timestamp()
    if type(timestamp) is not int or timestamp > MAX_WATERMARK or timestamp < NO_TIMESTAMP:
        checked_timestamp(timestamp, f"max_timestamp() of window {window!r:.60}")


W_contra = TypeVar("W_contra", bound=Window, contravariant=True)


class MergeCallback(Protocol[W_contra]):
    """The callback for the merges of an assigner. Flink: MergingWindowAssigner.MergeCallback."""

    def merge(self, to_be_merged: Collection[W_contra], merge_result: W_contra, /) -> None:
        """Called when the windows become ``merge_result``, which may be one of them."""


class TimeWindow(NamedTuple):
    """A window from ``start`` (inclusive) to ``end`` (exclusive), in ms. Flink: TimeWindow.

    Bounds are Java's longs, which overflow to the lowest value.
    """

    start: int
    end: int

    def max_timestamp(self) -> int:
        """Returns the last millisecond that belongs to the window."""
        end = self.end
        return end - 1 if end != NO_TIMESTAMP else MAX_WATERMARK

    def intersects(self, other: TimeWindow) -> bool:
        """Returns True if the windows overlap or touch, so that sessions merge."""
        return self.start <= other.end and self.end >= other.start

    def cover(self, other: TimeWindow) -> TimeWindow:
        """Returns the smallest window that contains both windows."""
        return TimeWindow(min(self.start, other.start), max(self.end, other.end))

    def java_hash(self) -> int:
        """Returns Java's hash code, which determines the order of a set of windows.

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
        """Returns the start of the window of ``window_size`` ms with ``timestamp``; windows begin at ``offset``.

        >>> TimeWindow.get_window_start_with_offset(-6, 0, 5)
        -10
        """
        return window_start_with_offset(timestamp, offset, window_size)

    @staticmethod
    def merge_windows(windows: Collection[TimeWindow], callback: MergeCallback[TimeWindow]) -> None:
        """Calls the callback with each group of windows that overlap or touch, and the covering window.

        A group's windows have the order of a Java HashSet, because the first window may decide where contents are
        stored.
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
    """Returns the window of ``size`` ms that begins at ``start``."""
    end = start + size
    return TimeWindow(start, end if end <= MAX_WATERMARK else wrapped(end))


def _start(window: TimeWindow) -> int:
    return window.start


def _as_hash_set(windows: list[TimeWindow]) -> list[TimeWindow]:
    """Returns the windows without duplicates, in the order of a Java HashSet to which they were added in this order."""
    together: JavaHashMap[TimeWindow, bool] = JavaHashMap(TimeWindow.java_hash)
    for window in windows:
        together.put(window, True)
    return list(together)


@final
class GlobalWindow:
    """The window that contains all of time; all instances are equal. Flink: GlobalWindow."""

    __slots__ = ()

    start: Final = NO_TIMESTAMP
    end: Final = MAX_WATERMARK

    @staticmethod
    def get() -> GlobalWindow:
        return GLOBAL_WINDOW

    def max_timestamp(self) -> int:
        """Returns the end of event time: the window never closes before it."""
        return MAX_WATERMARK

    def java_hash(self) -> int:
        """Java's hash code."""
        return 0

    def __eq__(self, other: object) -> bool:
        return type(other) is GlobalWindow

    def __hash__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return "GlobalWindow"


GLOBAL_WINDOW: Final = GlobalWindow()
