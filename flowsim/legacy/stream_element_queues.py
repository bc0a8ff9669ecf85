"""The ordered and the unordered queue of the emitter design. Flink (1.2 to 1.9): StreamElementQueue."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol

from flowsim.errors import WouldBlock
from flowsim.network.completion import Completion
from flowsim.operators.async_wait import stream_element_queue as mailbox_design
from flowsim.operators.async_wait.result_future import checked_error
from flowsim.operators.stream_operator import Value

Executor = Callable[[Callable[[], None]], None]
"""Runs commands one after the other, on a separate thread."""

UNNUMBERED = -1
"""The number of an entry that is not in a queue."""


class FutureRecordEntry(mailbox_design.StreamRecordQueueEntry):
    """A record with the future of its results or error; only the first completion counts (rule 11.31).

    An executor calls the listeners; at once if the future is complete.
    """

    __slots__ = ("error", "_completion")

    def __init__(self, value: Value, timestamp: int | None) -> None:
        super().__init__(UNNUMBERED, value, timestamp)
        self.error: BaseException | None = None
        self._completion: Completion[None] = Completion()

    def complete(self, results: Sequence[Value]) -> None:
        """Completes with results; ignored if already complete. None counts as no results, as in Flink 1.8."""
        self._finish(() if results is None else results, None)

    def complete_exceptionally(self, error: BaseException) -> None:
        """Completes with an error; ignored if already complete."""
        self._finish((), checked_error(error))

    def on_complete(self, callback: Callable[[], None], executor: Executor) -> None:
        """Registers a listener; the last registered listener is notified first, as by Java's future."""
        self._completion.when_complete(lambda *_: executor(callback))

    def _finish(self, results: Sequence[Value], error: BaseException | None) -> None:
        if self.is_done:
            return
        self.results, self.error = results, error
        self.is_done = True
        self._completion.complete(None)


class DoneWatermarkEntry(mailbox_design.WatermarkQueueEntry):
    """A watermark, whose future is complete from the start."""

    __slots__ = ()

    def __init__(self, timestamp: int) -> None:
        super().__init__(UNNUMBERED, timestamp)

    def on_complete(self, callback: Callable[[], None], executor: Executor) -> None:
        executor(callback)


FutureEntry = FutureRecordEntry | DoneWatermarkEntry


class LegacyStreamElementQueue(Protocol):
    """A queue whose elements stay until they are polled, so that a snapshot contains them (rules 11.32, 11.35).

    Blocking calls in Java are conditions here: ``put`` waits while ``is_full``, ``peek`` and ``poll`` wait for
    ``has_completed_element``; the task's shell waits.
    """

    capacity: int

    def __len__(self) -> int:
        """Returns the number of elements that were not polled yet, including watermarks (rule 11.35)."""

    @property
    def is_full(self) -> bool: ...

    @property
    def has_completed_element(self) -> bool:
        """True if ``peek`` and ``poll`` return an element."""

    def try_put(self, entry: FutureEntry) -> bool:
        """Enqueues the element; returns whether there was space."""

    def peek(self) -> FutureEntry:
        """Returns the next element to emit and keeps it; raises WouldBlock if there is none. Flink: peekBlockingly."""

    def poll(self) -> FutureEntry:
        """Removes the next element to emit; raises WouldBlock if there is none."""

    def values(self) -> list[FutureEntry]:
        """Returns the elements for a snapshot, in the order in which they are restored (rule 11.37)."""


class LegacyOrderedStreamElementQueue:
    """A queue in which a completed element waits for all earlier elements (rule 11.33).

    The executor's callback only notifies a waiting thread that the head is complete.
    """

    __slots__ = ("capacity", "_entries", "_executor")

    def __init__(self, capacity: int, executor: Executor) -> None:
        self.capacity = capacity
        self._entries: deque[FutureEntry] = deque()
        self._executor = executor

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def is_full(self) -> bool:
        return len(self._entries) >= self.capacity

    @property
    def has_completed_element(self) -> bool:
        return bool(self._entries) and self._entries[0].is_done

    def try_put(self, entry: FutureEntry) -> bool:
        if self.is_full:
            return False
        self._entries.append(entry)
        entry.on_complete(_nothing_moves, self._executor)
        return True

    def peek(self) -> FutureEntry:
        if not self.has_completed_element:
            raise WouldBlock("the first element is not completed")
        return self._entries[0]

    def poll(self) -> FutureEntry:
        head = self.peek()
        self._entries.popleft()
        return head

    def values(self) -> list[FutureEntry]:
        return list(self._entries)


def _nothing_moves() -> None:
    """Does nothing: elements are read in place."""


_Set = dict[int, FutureEntry]
"""A set in insertion order: a dict by number. Java's sets are unordered."""


class LegacyUnorderedStreamElementQueue:
    """A queue of sets of records; each watermark is alone in a set (rule 11.34).

    Completed elements move only from the first set to the emitter's queue; the executor moves an element some time
    after its completion. Invariants: the last set is the first set, or the last in the list of sets; every set before
    the last is not empty after the callbacks ran.
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
        """Handles a completed element, as a command of the executor. Flink: onCompleteHandler."""
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
            raise WouldBlock("no element is completed")
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
