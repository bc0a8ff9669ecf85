"""The order of timers, ties included (rules 9.2, 9.3)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from flowsim.timers.heap_priority_queue import HeapPriorityQueueSet
from flowsim.timers.internal_timer import InternalTimer


def timer(timestamp: int, key: object, namespace: str = "") -> InternalTimer:
    return InternalTimer(timestamp, key, key, namespace)


def drained(queue: HeapPriorityQueueSet) -> list[object]:
    keys = []
    while (head := queue.poll()) is not None:
        keys.append(head.key)
        queue.validate()
    return keys


def test_ties_have_order_of_flinks_binary_heap() -> None:
    """Rule 9.3, the executed example: neither insertion order nor the order of Python's heapq."""
    queue: HeapPriorityQueueSet = HeapPriorityQueueSet()
    for key in "abcde":
        queue.add(timer(10, key))
    queue.add(timer(7, "z"))
    assert drained(queue) == ["z", "c", "e", "d", "a", "b"]


def test_equal_timer_is_added_once_and_namespace_distinguishes_timers() -> None:
    """Rule 9.1."""
    queue: HeapPriorityQueueSet = HeapPriorityQueueSet()
    assert queue.add(timer(5, "a"))
    assert not queue.add(timer(5, "a"))
    queue.add(timer(5, "a", "window"))
    assert len(queue) == 2
    assert timer(5, "a") in queue
    assert timer(5, "b") not in queue


def test_add_and_remove_report_whether_head_changed() -> None:
    queue: HeapPriorityQueueSet = HeapPriorityQueueSet()
    assert queue.add(timer(5, "a"))
    assert not queue.add(timer(6, "b"))
    assert queue.add(timer(4, "c"))
    assert not queue.remove(timer(6, "b"))
    assert queue.remove(timer(4, "c"))
    assert not queue.remove(timer(4, "c"))
    assert drained(queue) == ["a"]
    assert queue.peek() is None


@given(st.lists(st.tuples(st.sampled_from(["add", "add", "remove", "poll"]), st.integers(0, 6), st.integers(0, 4))))
def test_timers_are_polled_once_by_timestamp(commands: list[tuple[str, int, int]]) -> None:
    queue: HeapPriorityQueueSet = HeapPriorityQueueSet()
    expected: set[tuple[int, int]] = set()
    for command, timestamp, key in commands:
        if command == "add":
            queue.add(timer(timestamp, key))
            expected.add((timestamp, key))
        elif command == "remove":
            queue.remove(timer(timestamp, key))
            expected.discard((timestamp, key))
        elif (head := queue.poll()) is not None:
            assert head.timestamp == min(t for t, _ in expected)
            expected.discard((head.timestamp, int(str(head.key))))
        queue.validate()
    left = []
    while (head := queue.poll()) is not None:
        left.append((head.timestamp, head.key))
    assert [t for t, _ in left] == sorted(t for t, _ in expected)
    assert sorted(left, key=repr) == sorted(expected, key=repr)
