"""Time windows: bounds, intersection, merging (rules 10.1, 10.5)."""

from __future__ import annotations

from collections.abc import Collection

from flowsim.operators.windowing.windows import GLOBAL_WINDOW, GlobalWindow, TimeWindow, Window, window_from
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP


class RecordedMerges:
    """Notes every merge."""

    def __init__(self) -> None:
        self.merges: list[tuple[list[Window], Window]] = []

    def merge(self, to_be_merged: Collection[Window], merge_result: Window) -> None:
        self.merges.append((list(to_be_merged), merge_result))


def merged(*bounds: tuple[int, int]) -> list[tuple[list[Window], Window]]:
    recorded = RecordedMerges()
    TimeWindow.merge_windows([TimeWindow(*each) for each in bounds], recorded)
    return recorded.merges


def test_window_start_is_multiple_of_size_also_before_epoch() -> None:
    assert [TimeWindow.get_window_start_with_offset(at, 0, 5) for at in (-6, -5, -1, 0, 4, 5)] == [-10, -5, -5, 0, 0, 5]


def test_offset_shifts_starts_and_may_be_negative_or_above_size() -> None:
    assert [TimeWindow.get_window_start_with_offset(7, offset, 5) for offset in (2, -3, 12, 3)] == [7, 7, 7, 3]


def test_windows_beyond_largest_timestamp_wrap_around() -> None:
    last = window_from(TimeWindow.get_window_start_with_offset(MAX_WATERMARK, 0, 1000), 1000)
    assert last == TimeWindow(MAX_WATERMARK - 807, NO_TIMESTAMP + 192)
    assert window_from(MAX_WATERMARK - 9, 10) == TimeWindow(MAX_WATERMARK - 9, NO_TIMESTAMP)
    assert window_from(MAX_WATERMARK - 9, 10).max_timestamp() == MAX_WATERMARK
    assert TimeWindow.get_window_start_with_offset(NO_TIMESTAMP, 0, 1000) == MAX_WATERMARK - 191
    # So does the distance from the offset: the window starts where no multiple of its size is.
    assert TimeWindow.get_window_start_with_offset(MAX_WATERMARK, -10, 1000) == MAX_WATERMARK - 201


def test_max_timestamp_is_end_minus_one() -> None:
    assert TimeWindow(0, 10).max_timestamp() == 9


def test_touching_windows_intersect_and_cover_spans_both() -> None:
    assert TimeWindow(0, 5).intersects(TimeWindow(5, 9))
    assert TimeWindow(5, 9).intersects(TimeWindow(0, 5))
    assert not TimeWindow(0, 5).intersects(TimeWindow(6, 9))
    assert TimeWindow(0, 5).cover(TimeWindow(3, 4)) == TimeWindow(0, 5)
    assert TimeWindow(4, 9).cover(TimeWindow(0, 5)) == TimeWindow(0, 9)


def test_windows_merge_transitively() -> None:
    (members, cover), *rest = merged((20, 25), (0, 5), (9, 12), (5, 9), (100, 101))
    assert sorted((window.start, window.end) for window in members) == [(0, 5), (5, 9), (9, 12)]
    assert cover == TimeWindow(0, 12)
    assert rest == []


def test_window_merged_with_itself_is_no_merge() -> None:
    assert merged((0, 5), (0, 5)) == []
    assert merged() == []


def test_merged_windows_have_order_of_java_hash_set() -> None:
    """Neither in the order of their starts nor in the order given: the first of them may keep the contents."""
    ((members, _),) = merged((0, 5), (1, 6), (2, 7), (3, 8), (4, 9))
    order = [window.start for window in members]
    assert order != sorted(order)
    assert order == [start for _, start in sorted((_bin(start, start + 5), start) for start in range(5))]


def _bin(start: int, end: int) -> int:
    bits = TimeWindow(start, end).java_hash() & 0xFFFFFFFF
    return (bits ^ bits >> 16) & 15


def test_global_window_is_a_single_value() -> None:
    assert GlobalWindow.get() == GlobalWindow() == GLOBAL_WINDOW
    assert len({GlobalWindow(), GLOBAL_WINDOW}) == 1
    assert TimeWindow(NO_TIMESTAMP, MAX_WATERMARK) != GLOBAL_WINDOW
    assert (GLOBAL_WINDOW.start, GLOBAL_WINDOW.end) == (NO_TIMESTAMP, MAX_WATERMARK)
    assert GLOBAL_WINDOW.max_timestamp() == MAX_WATERMARK
    assert repr(GLOBAL_WINDOW) == "GlobalWindow"
