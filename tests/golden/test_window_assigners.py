"""The answers of Flink's window assigners, and its merges of sessions."""

from __future__ import annotations

import gzip
import json
from collections.abc import Collection
from pathlib import Path
from random import Random
from typing import Any

import pytest

from flowsim.errors import BadInput
from flowsim.operators.windowing.assigners.session_windows import EventTimeSessionWindows
from flowsim.operators.windowing.assigners.sliding_windows import SlidingEventTimeWindows
from flowsim.operators.windowing.assigners.tumbling_windows import TumblingEventTimeWindows
from flowsim.operators.windowing.assigners.window_assigner import WindowAssigner
from flowsim.operators.windowing.windows import Window, window_start_with_offset
from flowsim.units import NO_TIMESTAMP

DATA = Path(__file__).parent / "data" / "component" / "window_assigners.jsonl.gz"


class NoProcessingTime:
    def get_current_processing_time(self) -> int:
        raise AssertionError("an event-time assigner asked for processing time")

    def random(self) -> Random:
        raise AssertionError("an assigner without stagger asked for chance")


def cases_of(kind: str) -> list[dict[str, Any]]:
    with gzip.open(DATA, "rt") as lines:
        return [case for case in map(json.loads, lines) if case["kind"] == kind]


def windows(assigner: WindowAssigner, timestamp: int) -> list[list[int]]:
    return [[w.start, w.end] for w in assigner.assign_windows("x", timestamp, NoProcessingTime())]


def test_tumbling_windows_equal_flinks() -> None:
    cases = cases_of("tumbling")
    assert len(cases) == 400
    for case in cases:
        assigner = TumblingEventTimeWindows(case["size"], case["offset"])
        assert [windows(assigner, timestamp) for timestamp in case["ts"]] == case["windows"], case["id"]


def test_sliding_windows_equal_flinks() -> None:
    cases = cases_of("sliding")
    assert len(cases) == 400
    for case in cases:
        assert case["error"] is None
        assigner = SlidingEventTimeWindows(case["size"], case["slide"], case["offset"])
        assert [windows(assigner, timestamp) for timestamp in case["ts"]] == case["windows"], case["id"]


def test_window_starts_with_any_offset_equal_flinks() -> None:
    cases = cases_of("window_start")
    assert len(cases) == 200
    for case in cases:
        assert window_start_with_offset(case["ts"], case["offset"], case["size"]) == case["start"], case["id"]


class Merges:
    """Notes what was merged into what."""

    def __init__(self) -> None:
        self.reported: list[list[object]] = []

    def merge(self, to_be_merged: Collection[Window], merge_result: Window) -> None:
        members = sorted([window.start, window.end] for window in to_be_merged)
        self.reported.append([members, [merge_result.start, merge_result.end]])


def test_assigned_and_merged_sessions_equal_flinks() -> None:
    cases = cases_of("session_merge")
    assert len(cases) == 200
    for case in cases:
        assigner = EventTimeSessionWindows(case["gap"])
        assigned = [w for timestamp in case["ts"] for w in assigner.assign_windows("x", timestamp, NoProcessingTime())]
        assert [[w.start, w.end] for w in assigned] == case["windows"], case["id"]
        merges = Merges()
        assigner.merge_windows(assigned, merges)
        assert merges.reported == case["merges"], case["id"]
    assert sum(len(case["merges"]) for case in cases) > 200


def test_arguments_that_flink_refuses_are_refused() -> None:
    assert [case["error"][0] for case in cases_of("error_tumbling")] == ["IllegalArgumentException"] * 3
    for size, offset in ((10, 10), (0, 0), (10, -10)):
        with pytest.raises(BadInput, match=r"\|offset\| < size"):
            TumblingEventTimeWindows(size, offset)
    assert [case["error"][0] for case in cases_of("error_sliding")] == ["IllegalArgumentException"] * 2
    for size, slide, offset in ((10, 5, 5), (0, 5, 0)):
        with pytest.raises(BadInput, match=r"\|offset\| < slide"):
            SlidingEventTimeWindows(size, slide, offset)
    assert [case["error"][0] for case in cases_of("error_session")] == ["IllegalArgumentException"]
    with pytest.raises(BadInput, match="a gap of at least 1 ms"):
        EventTimeSessionWindows(0)
    assert [case["error"][0] for case in cases_of("no_timestamp")] == ["RuntimeException"]
    for timestamp in (NO_TIMESTAMP, None):
        with pytest.raises(BadInput, match="the record has no timestamp"):
            TumblingEventTimeWindows(10).assign_windows("x", timestamp, NoProcessingTime())
