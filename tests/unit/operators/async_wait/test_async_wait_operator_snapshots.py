"""The state of an async operator, and what it makes of that when it is opened (rules 11.20-11.22)."""

from __future__ import annotations

from typing import Any

import pytest

from flowsim.streamrecord.elements import StreamElement, StreamRecord, Watermark
from tests.support.operators.async_wait_harness import AsyncBench


@pytest.mark.parametrize("mode", ["ordered", "unordered"])
def test_snapshot_has_all_queued_elements(mode: Any) -> None:
    with AsyncBench(mode) as bench:
        bench.process_elements([("a", 1), ("b", None)])
        bench.process_watermark(2)
        bench.process_element("c", 3)
        bench.answer("c", "C")
        assert bench.waiting.snapshot_state() == [
            StreamRecord("a", 1), StreamRecord("b", None), Watermark(2), StreamRecord("c", 3)
        ]  # fmt: skip


def test_unordered_snapshot_starts_with_completed_elements_of_segment() -> None:
    """Rule 11.20, in each segment; so it is put in again in another order than it came."""
    with AsyncBench("unordered") as bench:
        bench.process_watermark(0)
        bench.process_element("z", 0)
        bench.process_watermark(1)
        bench.process_elements([("a", 1), ("b", 2), ("c", 3)])
        bench.answer("c", "C")
        bench.answer("b", "B")
        assert bench.output == [("wm", 0)]
        state = bench.waiting.snapshot_state()
        assert state == [
            StreamRecord("z", 0), Watermark(1), StreamRecord("c", 3), StreamRecord("b", 2), StreamRecord("a", 1),
        ]  # fmt: skip
    with AsyncBench("unordered", restored=state) as bench:
        assert bench.calls.values == ["z", "c", "b", "a"]


def test_snapshot_does_not_change_with_its_records() -> None:
    with AsyncBench() as bench:
        value = ["a"]
        bench.process_element(value, 1)
        snapshot = bench.waiting.snapshot_state()
        value[0] = "b"
        assert snapshot == [StreamRecord(["a"], 1)]


def test_restored_elements_are_put_and_called_in_order_of_state() -> None:
    """Rule 11.22: they are no records in, since they were already."""
    state: list[StreamElement] = [StreamRecord("a", 1), Watermark(2), StreamRecord("b", None)]
    with AsyncBench(restored=state, timeout_ms=10) as bench:
        assert (bench.calls.life, bench.calls.values) == (["open"], ["a", "b"])
        assert bench.processing_time.live_timers_ms() == [11, 11]
        assert bench.operator.records_in == 0
        assert bench.waiting.snapshot_state() == state
        bench.answer("b", "B")
        bench.answer("a", "A")
        assert bench.output == [("rec", "A", 1), ("wm", 2), ("rec", "B", None)]


def test_restored_leading_watermarks_are_emitted_during_open() -> None:
    with AsyncBench(restored=[Watermark(2), StreamRecord("a", 3)]) as bench:
        assert bench.output == [("wm", 2)]


def test_more_restored_elements_than_capacity_yield_during_open() -> None:
    """Rule 11.22."""
    bench = AsyncBench(restored=[StreamRecord("a", 1), StreamRecord("b", 2), StreamRecord("c", 3)], capacity=1)
    bench.calls.at_once = lambda value, future: future.complete([value])
    with bench:
        assert bench.output == [("rec", "a", 1), ("rec", "b", 2)]
        assert bench.calls.values == ["a", "b", "c"]


def test_state_is_restored_only_once() -> None:
    with AsyncBench(restored=[StreamRecord("a", 1)]) as bench:
        bench.operator.open()
        assert bench.calls.values == ["a"]
