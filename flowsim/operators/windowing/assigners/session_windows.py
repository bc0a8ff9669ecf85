"""What sessions of both kinds of time and gap share (rule 10.5)."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from flowsim.errors import BadInput
from flowsim.operators.stream_operator import Value
from flowsim.operators.windowing.assigners.window_assigner import MergeCallback, MergingWindowAssigner
from flowsim.operators.windowing.time_window import TimeWindow
from flowsim.operators.windowing.window import Window
from flowsim.units import MAX_WATERMARK


class SessionWindows(MergingWindowAssigner):
    """Each record opens a session of its own, and sessions that overlap or touch are one."""

    __slots__ = ()

    def merge_windows(self, windows: Collection[Window], callback: MergeCallback) -> None:
        TimeWindow.merge_windows([_time_window(window) for window in windows], callback)


class SessionWindowTimeGapExtractor(Protocol):
    """How long after a record its session stays open. Flink: SessionWindowTimeGapExtractor."""

    def extract(self, element: Value, /) -> int:
        """Milliseconds, above 0."""


def fixed_gap(gap_ms: int) -> int:
    """The gap of all sessions; raises BadInput unless it is above 0."""
    if gap_ms < 1:
        raise BadInput(f"session window: expected a gap of at least 1 ms, got {gap_ms} ms")
    return gap_ms


def dynamic_gap(extractor: SessionWindowTimeGapExtractor, element: Value) -> int:
    """The gap of this record's session; raises BadInput unless it is a whole number of ms above 0."""
    gap_ms: object = extractor.extract(element)
    if type(gap_ms) is not int or not 1 <= gap_ms <= MAX_WATERMARK:
        raise BadInput(
            f"session window: expected the gap extractor to answer 1 to 2**63 - 1 ms, got {gap_ms!r:.40} for {element!r:.60}"
        )
    return gap_ms


def _time_window(window: Window) -> TimeWindow:
    assert isinstance(window, TimeWindow)
    return window
