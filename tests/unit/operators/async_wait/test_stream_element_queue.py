"""The two queues of the async operator and their elements (rules 11.5-11.11, 11.20)."""

from __future__ import annotations

from typing import Any

import pytest

from flowsim.errors import BadInput, InvariantViolation
from flowsim.operators.async_wait.stream_element_queue import (
    OrderedStreamElementQueue,
    QueueEntry,
    StreamElementQueue,
    StreamRecordQueueEntry,
    WatermarkQueueEntry,
)
from flowsim.operators.async_wait.unordered_stream_element_queue import UnorderedStreamElementQueue
from flowsim.streamrecord.elements import StreamRecord, Watermark
from flowsim.testing.harness import CollectingOutput

BOTH = pytest.mark.parametrize("queue_class", [OrderedStreamElementQueue, UnorderedStreamElementQueue])


def filled(queue: StreamElementQueue, *elements: str | int) -> dict[str, StreamRecordQueueEntry]:
    """Puts records by name, and watermarks by number; answers the records."""
    records = {}
    for number, element in enumerate(elements):
        if isinstance(element, int):
            assert queue.try_put(WatermarkQueueEntry(number, element))
        else:
            records[element] = StreamRecordQueueEntry(number, element, None)
            assert queue.try_put(records[element])
    return records


def emitted(queue: StreamElementQueue) -> list[Any]:
    """What comes out until nothing is done any more."""
    output = CollectingOutput()
    while queue.has_completed_elements:
        queue.emit_completed_element(output)
    return [element[1] for element in output.emitted]


def complete(queue: StreamElementQueue, entry: QueueEntry, *results: Any) -> None:
    queue.complete(entry, list(results))


@BOTH
@pytest.mark.parametrize("capacity", [0, -1])
def test_capacity_below_one_is_refused(queue_class: Any, capacity: int) -> None:
    with pytest.raises(BadInput, match=f"at least 1, got {capacity}"):
        queue_class(capacity)


@BOTH
def test_watermark_takes_a_slot_like_a_record(queue_class: Any) -> None:
    queue = queue_class(2)
    filled(queue, "a", 5)
    assert not queue.try_put(StreamRecordQueueEntry(2, "b", None))
    assert not queue.try_put(WatermarkQueueEntry(2, 6))
    assert len(queue) == 2


@BOTH
def test_one_element_is_emitted_per_call(queue_class: Any) -> None:
    queue, output = queue_class(3), CollectingOutput()
    records = filled(queue, "a", "b")
    complete(queue, records["a"], 1, 2)
    complete(queue, records["b"], 3)
    assert queue.emit_completed_element(output) is records["a"]
    assert output.emitted == [("rec", 1, None), ("rec", 2, None)]
    assert (len(queue), queue.has_completed_elements) == (1, True)


@BOTH
def test_queue_without_completed_elements_emits_nothing(queue_class: Any) -> None:
    queue, output = queue_class(3), CollectingOutput()
    assert queue.emit_completed_element(output) is None
    filled(queue, "a")
    assert queue.emit_completed_element(output) is None
    assert (output.emitted, len(queue)) == ([], 1)


@BOTH
def test_results_have_timestamp_of_record_and_may_be_empty(queue_class: Any) -> None:
    queue, output = queue_class(3), CollectingOutput()
    with_time, without = StreamRecordQueueEntry(0, "a", 7), StreamRecordQueueEntry(1, "b", 8)
    assert queue.try_put(with_time)
    assert queue.try_put(without)
    complete(queue, with_time, "x", "y")
    complete(queue, without)
    while queue.has_completed_elements:
        queue.emit_completed_element(output)
    assert output.emitted == [("rec", "x", 7), ("rec", "y", 7)]
    assert len(queue) == 0


@BOTH
def test_later_results_replace_results_not_yet_emitted(queue_class: Any) -> None:
    queue = queue_class(3)
    records = filled(queue, "a")
    complete(queue, records["a"], 1)
    complete(queue, records["a"], 2)
    assert (emitted(queue), len(queue)) == ([2], 0)


@BOTH
def test_results_after_emission_are_ignored(queue_class: Any) -> None:
    queue = queue_class(3)
    records = filled(queue, "a", "b")
    complete(queue, records["a"], 1)
    assert emitted(queue) == [1]
    complete(queue, records["a"], 2)
    assert (emitted(queue), len(queue)) == ([], 1)


@BOTH
@pytest.mark.parametrize("wrong", [None, "ab", b"ab", 5, {"a": 1}, {1, 2}, iter([1])])
def test_invalid_results_leave_record_incomplete(queue_class: Any, wrong: Any) -> None:
    queue = queue_class(3)
    records = filled(queue, "a")
    with pytest.raises(TypeError, match="results of an async call must be a list"):
        queue.complete(records["a"], wrong)
    assert not queue.has_completed_elements
    complete(queue, records["a"], 1)
    assert emitted(queue) == [1]


@BOTH
def test_completing_watermark_is_refused(queue_class: Any) -> None:
    queue = queue_class(3)
    entry = WatermarkQueueEntry(0, 5)
    assert queue.try_put(entry)
    with pytest.raises(InvariantViolation, match="a watermark cannot be completed"):
        queue.complete(entry, [])


def test_ordered_completed_element_waits_for_earlier_ones() -> None:
    queue = OrderedStreamElementQueue(9)
    records = filled(queue, "a", 5, "b", "c")
    complete(queue, records["c"], "C")
    complete(queue, records["b"], "B")
    assert emitted(queue) == []
    complete(queue, records["a"], "A")
    assert emitted(queue) == ["A", 5, "B", "C"]


def test_unordered_records_never_overtake_watermark() -> None:
    """The example of rule 11.11: a b c | W5 | d e | W6 | W7 | f."""
    queue = UnorderedStreamElementQueue(20)
    records = filled(queue, "a", "b", "c", 5, "d", "e", 6, 7, "f")
    complete(queue, records["e"], "E")
    assert emitted(queue) == []
    complete(queue, records["c"], "C1", "C2")
    complete(queue, records["a"], "A")
    assert emitted(queue) == ["C1", "C2", "A"]
    complete(queue, records["b"])
    assert emitted(queue) == [5, "E"]
    complete(queue, records["d"], "D")
    assert emitted(queue) == ["D", 6, 7]
    complete(queue, records["f"], "F")
    assert (emitted(queue), len(queue)) == (["F"], 0)


def test_unordered_consecutive_watermarks_are_emitted_in_order() -> None:
    queue = UnorderedStreamElementQueue(5)
    filled(queue, 1, 2, 3)
    assert (emitted(queue), len(queue)) == ([1, 2, 3], 0)


def test_unordered_empty_queue_accepts_elements_again() -> None:
    queue = UnorderedStreamElementQueue(2)
    filled(queue, 1)
    assert emitted(queue) == [1]
    records = filled(queue, "a", 2)
    complete(queue, records["a"], "A")
    assert emitted(queue) == ["A", 2]


def test_ordered_snapshot_has_queue_order() -> None:
    queue = OrderedStreamElementQueue(9)
    records = filled(queue, "a", 5, "b")
    complete(queue, records["b"], "B")
    assert queue.values() == [StreamRecord("a", None), Watermark(5), StreamRecord("b", None)]


def test_unordered_snapshot_has_completed_elements_first_in_segment() -> None:
    queue = UnorderedStreamElementQueue(9)
    records = filled(queue, "a", "b", "c", 5, "d", "e")
    for name in "cbe":
        complete(queue, records[name], name)
    values = [element.value if isinstance(element, StreamRecord) else element.timestamp for element in queue.values()]
    assert values == ["c", "b", "a", 5, "e", "d"]
