"""Windows of one key in flight, and where their contents are kept (rule 10.25)."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from flowsim.errors import BadInput, InvariantViolation
from flowsim.operators.windowing.assigners.session_windows import EventTimeSessionWindows
from flowsim.operators.windowing.merging_window_set import MergingWindowSet
from flowsim.operators.windowing.windows import MergeCallback, TimeWindow, Window

Merge = tuple[Window, list[Window], Window, list[Window]]


class Kept:
    """The list of one key, and how often it was written."""

    def __init__(self, *pairs: tuple[Window, Window]) -> None:
        self.pairs = list(pairs)
        self.written = 0

    def get(self) -> list[tuple[Window, Window]]:
        return self.pairs

    def update(self, pairs: list[tuple[Window, Window]]) -> None:
        self.pairs = pairs
        self.written += 1


class Sessions(MergingWindowSet):
    """A set of sessions that notes its merges."""

    __slots__ = ("merges",)

    def __init__(self, kept: Kept | None = None) -> None:
        super().__init__(EventTimeSessionWindows(5), kept or Kept())
        self.merges: list[Merge] = []

    def add(self, start: int, end: int | None = None) -> Window:
        return self.add_window(TimeWindow(start, start + 5 if end is None else end), self.note)

    def note(self, result: Window, merged: Collection[Window], state: Window, states: Collection[Window]) -> None:
        self.merges.append((result, list(merged), state, list(states)))


def test_separate_window_keeps_its_own_contents() -> None:
    windows = Sessions()
    assert windows.add(0) == TimeWindow(0, 5)
    assert windows.add(6) == TimeWindow(6, 11)
    assert windows.state_window(TimeWindow(6, 11)) == TimeWindow(6, 11)
    assert windows.state_window(TimeWindow(0, 11)) is None
    assert windows.merges == []


def test_contents_stay_under_first_window_while_session_grows() -> None:
    windows = Sessions()
    for start in (0, 20, 5, 10, 14):
        actual = windows.add(start)
    assert actual == TimeWindow(0, 19)
    assert windows.state_window(actual) == TimeWindow(0, 5)
    assert windows.merges[-1] == (TimeWindow(0, 19), [TimeWindow(0, 15)], TimeWindow(0, 5), [])
    assert windows.state_window(TimeWindow(20, 25)) == TimeWindow(20, 25)


def test_window_closing_gap_merges_contents_of_both_sides() -> None:
    windows = Sessions()
    windows.add(0)
    windows.add(8)
    assert windows.add(4) == TimeWindow(0, 13)
    ((result, merged, state, states),) = windows.merges
    assert result == TimeWindow(0, 13)
    assert set(merged) == {TimeWindow(0, 5), TimeWindow(8, 13)}
    assert {state, *states} == set(merged)
    assert windows.windows() == [result]


def test_window_inside_another_is_no_merge() -> None:
    windows = Sessions()
    windows.add(0)
    windows.add(3)
    windows.merges.clear()
    assert windows.add(1) == TimeWindow(0, 8)
    assert windows.merges == []
    assert windows.state_window(TimeWindow(0, 8)) == TimeWindow(0, 5)


def test_window_equal_to_grown_one_loses_mapping_to_state_window() -> None:
    """As Flink does; a fixed gap never makes such a window."""
    windows = Sessions()
    windows.add(0)
    windows.add(3)
    assert windows.add(0, 8) == TimeWindow(0, 8)
    assert windows.state_window(TimeWindow(0, 8)) == TimeWindow(0, 8)


def test_retired_window_is_removed_and_cannot_be_retired_again() -> None:
    windows = Sessions()
    windows.add(0)
    windows.retire_window(TimeWindow(0, 5))
    assert windows.windows() == []
    with pytest.raises(InvariantViolation, match=r"TimeWindow\(start=0, end=5\) is not in the set"):
        windows.retire_window(TimeWindow(0, 5))


def test_set_is_persisted_only_when_changed_and_restored_equal() -> None:
    kept = Kept()
    windows = Sessions(kept)
    windows.persist()
    assert kept.written == 0
    for start in (0, 3, 50):
        windows.add(start)
    windows.persist()
    assert kept.written == 1
    assert set(kept.pairs) == {(TimeWindow(0, 8), TimeWindow(0, 5)), (TimeWindow(50, 55), TimeWindow(50, 55))}
    again = Sessions(kept)
    assert again.windows() == windows.windows()
    assert again.add(1) == TimeWindow(0, 8)
    again.persist()
    assert kept.written == 1


def test_separate_window_keeps_contents_while_restored_ones_merge() -> None:
    """A list that no job writes by itself: a merge always follows the window that causes it."""
    one, other = TimeWindow(0, 5), TimeWindow(3, 8)
    windows = Sessions(Kept((one, one), (other, other)))
    assert windows.add(50) == TimeWindow(50, 55)
    assert windows.state_window(TimeWindow(50, 55)) == TimeWindow(50, 55)
    assert [result for result, _, _, _ in windows.merges] == [TimeWindow(0, 8)]
    assert set(windows.windows()) == {TimeWindow(0, 8), TimeWindow(50, 55)}


def test_merge_of_unknown_windows_is_refused() -> None:
    class Confused(EventTimeSessionWindows):
        def merge_windows(self, windows: Collection[Window], callback: MergeCallback) -> None:
            callback.merge([TimeWindow(1, 2)], TimeWindow(0, 9))

    windows = MergingWindowSet(Confused(5), Kept())
    with pytest.raises(BadInput, match=r"Confused.merge_windows: expected windows in flight"):
        windows.add_window(TimeWindow(0, 5), lambda *_: None)
