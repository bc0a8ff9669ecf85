"""The queue that lets elements out in the order in which they came. Flink: OrderedStreamElementQueue."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from flowsim.operators.async_wait.stream_element_queue import (
    QueueEntry,
    StreamRecordQueueEntry,
    checked_capacity,
)
from flowsim.operators.stream_operator import Output, Value
from flowsim.streamrecord.elements import StreamElement


class OrderedStreamElementQueue:
    """First in, first out: what is done waits for all before it (rule 11.5). Flink: OrderedStreamElementQueue."""

    __slots__ = ("capacity", "_entries")

    def __init__(self, capacity: int) -> None:
        self.capacity = checked_capacity(capacity)
        self._entries: deque[QueueEntry] = deque()

    def __len__(self) -> int:
        return len(self._entries)

    def try_put(self, entry: QueueEntry) -> bool:
        if len(self._entries) >= self.capacity:
            return False
        self._entries.append(entry)
        return True

    def complete(self, entry: QueueEntry, results: Sequence[Value]) -> None:
        entry.complete(results)

    @property
    def has_completed_elements(self) -> bool:
        return bool(self._entries) and self._entries[0].is_done

    def emit_completed_element(self, output: Output) -> QueueEntry | None:
        if not self.has_completed_elements:
            return None
        head = self._entries.popleft()
        head.emit_result(output)
        return head

    @property
    def pending(self) -> list[StreamRecordQueueEntry]:
        return [entry for entry in self._entries if isinstance(entry, StreamRecordQueueEntry) and not entry.is_done]

    def values(self) -> list[StreamElement]:
        return [entry.element for entry in self._entries]
