"""First in, first out, for an emitter thread. Flink (1.2 to 1.9): OrderedStreamElementQueue."""

from __future__ import annotations

from collections import deque

from flowsim.errors import WouldBlock
from flowsim.operators.async_wait.legacy.stream_element_queue_entry import Executor, FutureEntry


class LegacyOrderedStreamElementQueue:
    """What is done waits for all before it (rule 11.33).

    The executor's callback changes nothing here: it is how a thread that waits hears of a head that is done.
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
            raise WouldBlock("the first element is not done")
        return self._entries[0]

    def poll(self) -> FutureEntry:
        head = self.peek()
        self._entries.popleft()
        return head

    def values(self) -> list[FutureEntry]:
        return list(self._entries)


def _nothing_moves() -> None:
    """The head is looked at where it stands."""
