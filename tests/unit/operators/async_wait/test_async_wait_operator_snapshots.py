"""The state of an async operator, and its restore when it is opened (rules 11.20-11.22)."""

from __future__ import annotations

from typing import Any

import pytest

from flowsim.streamrecord.elements import StreamElement, StreamRecord, Watermark
from tests.support.operators.async_wait_harness import AsyncOperatorHarness


@pytest.mark.parametrize("mode", ["ordered", "unordered"])
def test_snapshot_has_all_queued_elements(mode: Any) -> None:
    with AsyncOperatorHarness(mode) as harness:
        harness.process_elements([("a", 1), ("b", None)])
        harness.process_watermark(2)
        harness.process_element("c", 3)
        harness.answer("c", "C")
        assert harness.waiting.held_elements() == [
            StreamRecord("a", 1), StreamRecord("b", None), Watermark(2), StreamRecord("c", 3)
        ]  # fmt: skip


def test_unordered_snapshot_starts_with_completed_elements_of_segment() -> None:
    """Rule 11.20, in each segment; so it is put in again in another order than it came."""
    with AsyncOperatorHarness("unordered") as harness:
        harness.process_watermark(0)
        harness.process_element("z", 0)
        harness.process_watermark(1)
        harness.process_elements([("a", 1), ("b", 2), ("c", 3)])
        harness.answer("c", "C")
        harness.answer("b", "B")
        assert harness.output == [("wm", 0)]
        state = harness.waiting.held_elements()
        assert state == [
            StreamRecord("z", 0), Watermark(1), StreamRecord("c", 3), StreamRecord("b", 2), StreamRecord("a", 1),
        ]  # fmt: skip
    with AsyncOperatorHarness("unordered", restored=state) as harness:
        assert harness.calls.values == ["z", "c", "b", "a"]


def test_snapshot_does_not_change_with_its_records() -> None:
    with AsyncOperatorHarness() as harness:
        value = ["a"]
        harness.process_element(value, 1)
        snapshot = harness.waiting.held_elements()
        value[0] = "b"
        assert snapshot == [StreamRecord(["a"], 1)]


def test_restored_elements_are_put_and_called_in_order_of_state() -> None:
    """Rule 11.22: they are no records in, since they were already."""
    state: list[StreamElement] = [StreamRecord("a", 1), Watermark(2), StreamRecord("b", None)]
    with AsyncOperatorHarness(restored=state, timeout_ms=10) as harness:
        assert (harness.calls.life, harness.calls.values) == (["open"], ["a", "b"])
        assert harness.processing_time.live_timers_ms() == [11, 11]
        assert harness.operator.records_in == 0
        assert harness.waiting.held_elements() == state
        harness.answer("b", "B")
        harness.answer("a", "A")
        assert harness.output == [("rec", "A", 1), ("wm", 2), ("rec", "B", None)]


def test_restored_leading_watermarks_are_emitted_during_open() -> None:
    with AsyncOperatorHarness(restored=[Watermark(2), StreamRecord("a", 3)]) as harness:
        assert harness.output == [("wm", 2)]


def test_more_restored_elements_than_capacity_yield_during_open() -> None:
    """Rule 11.22."""
    harness = AsyncOperatorHarness(
        restored=[StreamRecord("a", 1), StreamRecord("b", 2), StreamRecord("c", 3)], capacity=1
    )
    harness.calls.at_once = lambda value, future: future.complete([value])
    with harness:
        assert harness.output == [("rec", "a", 1), ("rec", "b", 2)]
        assert harness.calls.values == ["a", "b", "c"]


def test_state_is_restored_only_once() -> None:
    with AsyncOperatorHarness(restored=[StreamRecord("a", 1)]) as harness:
        harness.operator.open()
        assert harness.calls.values == ["a"]
