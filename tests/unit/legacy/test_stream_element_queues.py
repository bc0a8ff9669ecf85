"""The queues of the legacy design, one scenario per test; tests/golden compares all their answers with Flink's."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import pytest

from flowsim.errors import WouldBlock
from flowsim.legacy.stream_element_queues import (
    DoneWatermarkEntry,
    FutureEntry,
    FutureRecordEntry,
    LegacyOrderedStreamElementQueue,
    LegacyStreamElementQueue,
    LegacyUnorderedStreamElementQueue,
)


class Executor:
    """Keeps callbacks until the test runs them."""

    def __init__(self) -> None:
        self.callbacks: deque[Callable[[], None]] = deque()

    def __call__(self, callback: Callable[[], None]) -> None:
        self.callbacks.append(callback)

    def run(self) -> None:
        while self.callbacks:
            self.callbacks.popleft()()


def filled(queue: LegacyStreamElementQueue, elements: str) -> dict[str, FutureRecordEntry]:
    """Puts a record for each lower-case letter, a watermark for each digit."""
    records: dict[str, FutureRecordEntry] = {}
    for number, element in enumerate(elements):
        entry: FutureEntry = DoneWatermarkEntry(int(element)) if element.isdigit() else FutureRecordEntry(element, 1)
        entry.number = number
        assert queue.try_put(entry)
        if isinstance(entry, FutureRecordEntry):
            records[element] = entry
    return records


def name(entry: FutureEntry) -> str:
    return str(entry.timestamp if isinstance(entry, DoneWatermarkEntry) else entry.value)


def polled(queue: LegacyStreamElementQueue) -> str:
    """All that leaves now."""
    out = ""
    while queue.has_completed_element:
        out += name(queue.poll())
    return out


def test_ordered_queue_blocks_behind_its_head() -> None:
    """Rule 11.33."""
    executor = Executor()
    queue = LegacyOrderedStreamElementQueue(5, executor)
    records = filled(queue, "ab1")
    records["b"].complete(["B"])
    executor.run()
    assert not queue.has_completed_element
    records["a"].complete([])
    assert polled(queue) == "ab1", "a head that is done is seen without its callback"


def test_element_stays_in_queue_until_polled() -> None:
    """Rules 11.32, 11.35, 11.37."""
    executor = Executor()
    for queue in (LegacyOrderedStreamElementQueue(1, executor), LegacyUnorderedStreamElementQueue(1, executor)):
        record = filled(queue, "a")["a"]
        record.complete(["A"])
        executor.run()
        assert (queue.peek(), queue.peek(), len(queue), queue.is_full) == (record, record, 1, True)
        assert queue.values() == [record]
        assert not queue.try_put(FutureRecordEntry("b", 1))
        assert (queue.poll(), len(queue), queue.values()) == (record, 0, [])


def test_peek_and_poll_without_completed_element_would_block() -> None:
    for queue in (LegacyOrderedStreamElementQueue(2, Executor()), LegacyUnorderedStreamElementQueue(2, Executor())):
        filled(queue, "a")
        for wait in (queue.peek, queue.poll):
            with pytest.raises(WouldBlock):
                wait()


def test_executor_moves_completed_records_into_unordered_queue() -> None:
    """Rule 11.34."""
    executor = Executor()
    queue = LegacyUnorderedStreamElementQueue(5, executor)
    records = filled(queue, "abc")
    records["c"].complete([])
    records["a"].complete([])
    assert not queue.has_completed_element
    executor.run()
    assert polled(queue) == "ca"
    assert [name(entry) for entry in queue.values()] == ["b"]


def test_no_record_overtakes_watermark_in_unordered_queue() -> None:
    """Rule 11.34: what is done in a later set is moved when that becomes the first, in its order."""
    executor = Executor()
    queue = LegacyUnorderedStreamElementQueue(9, executor)
    records = filled(queue, "ab5cde6f")
    for done in "edfa":
        records[done].complete([])
    executor.run()
    assert polled(queue) == "a"
    records["b"].complete([])
    executor.run()
    assert polled(queue) == "b5de"
    assert [name(entry) for entry in queue.values()] == ["c", "6", "f"]
    records["c"].complete([])
    executor.run()
    assert polled(queue) == "c6f"


def test_watermark_without_earlier_elements_is_polled_at_once() -> None:
    executor = Executor()
    queue = LegacyUnorderedStreamElementQueue(9, executor)
    filled(queue, "12a3")
    executor.run()
    assert polled(queue) == "12"


def test_first_outcome_wins_and_callbacks_run_last_registered_first() -> None:
    """As java.util.concurrent.CompletableFuture does it."""
    reported: list[str] = []
    entry = FutureRecordEntry("a", 1)
    entry.on_complete(lambda: reported.append("first"), lambda callback: callback())
    entry.on_complete(lambda: reported.append("second"), lambda callback: callback())
    entry.complete_exceptionally(OSError("gone"))
    entry.complete(["A"])
    entry.on_complete(lambda: reported.append("late"), lambda callback: callback())
    assert reported == ["second", "first", "late"]
    assert (entry.results, str(entry.error)) == ((), "gone")
