"""Records leave as they are done, but never past a watermark. Flink (1.2 to 1.9): UnorderedStreamElementQueue."""

from __future__ import annotations

from collections import deque

from flowsim.errors import WouldBlock
from flowsim.operators.async_wait.legacy.stream_element_queue_entry import (
    DoneWatermarkEntry,
    Executor,
    FutureEntry,
)

_Set = dict[int, FutureEntry]
"""By number: a set that keeps its order; Java's are in the order of their hashes, which is none."""


class LegacyUnorderedStreamElementQueue:
    """Sets of records, with a watermark alone in a set between them (rule 11.34).

    Only the first set moves what is done into the line that the emitter reads; it is the executor that moves it, some
    time after the outcome. Invariants: the last set is the first one, or the last in the line of sets; a set that is not
    the last is not empty once the callbacks ran.
    """

    __slots__ = ("capacity", "_completed", "_uncompleted", "_first", "_last", "_size", "_executor")

    def __init__(self, capacity: int, executor: Executor) -> None:
        self.capacity = capacity
        self._completed: deque[FutureEntry] = deque()
        self._uncompleted: deque[_Set] = deque()
        self._first: _Set = {}
        self._last = self._first
        self._size = 0
        self._executor = executor

    def __len__(self) -> int:
        return self._size

    @property
    def is_full(self) -> bool:
        return self._size >= self.capacity

    @property
    def has_completed_element(self) -> bool:
        return bool(self._completed)

    def try_put(self, entry: FutureEntry) -> bool:
        if self.is_full:
            return False
        if isinstance(entry, DoneWatermarkEntry):
            self._add_watermark(entry)
        else:
            self._last[entry.number] = entry
        entry.on_complete(lambda: self.on_complete(entry), self._executor)
        self._size += 1
        return True

    def _add_watermark(self, entry: DoneWatermarkEntry) -> None:
        self._last = {}
        if self._first:
            self._uncompleted.append({entry.number: entry})
        else:
            self._first[entry.number] = entry
        self._uncompleted.append(self._last)

    def on_complete(self, entry: FutureEntry) -> None:
        """What the executor runs for an element that is done. Flink: onCompleteHandler."""
        if self._first.pop(entry.number, None) is None:
            return
        self._completed.append(entry)
        while not self._first and self._first is not self._last:
            self._first = self._uncompleted.popleft()
            for other in [each for each in self._first.values() if each.is_done]:
                self._completed.append(other)
                del self._first[other.number]

    def peek(self) -> FutureEntry:
        if not self._completed:
            raise WouldBlock("no element is done")
        return self._completed[0]

    def poll(self) -> FutureEntry:
        head = self.peek()
        self._completed.popleft()
        self._size -= 1
        return head

    def values(self) -> list[FutureEntry]:
        line = [*self._completed, *self._first.values()]
        for uncompleted in self._uncompleted:
            line += uncompleted.values()
        return line
