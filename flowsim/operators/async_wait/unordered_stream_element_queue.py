"""The queue that emits records in order of completion, but never across a watermark. Flink: UnorderedStreamElementQueue."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from mypy_extensions import mypyc_attr

from flowsim.operators.async_wait.stream_element_queue import (
    QueueEntry,
    StreamRecordQueueEntry,
    WatermarkQueueEntry,
    checked_capacity,
)
from flowsim.operators.stream_operator import Value
from flowsim.streamrecord.elements import StreamElement
from flowsim.streamrecord.output import Output


class Segment:
    """The records between two watermarks, or one watermark alone. Flink: UnorderedStreamElementQueue.Segment."""

    __slots__ = ("incomplete", "completed")

    def __init__(self) -> None:
        # A dict as a set with insertion order.
        self.incomplete: dict[int, QueueEntry] = {}
        self.completed: deque[QueueEntry] = deque()

    @property
    def is_empty(self) -> bool:
        return not self.incomplete and not self.completed

    def add(self, entry: QueueEntry) -> None:
        if entry.is_done:
            self.completed.append(entry)
        else:
            self.incomplete[entry.number] = entry

    def complete(self, entry: QueueEntry) -> None:
        """Marks an element as completed. An element that is not incomplete any more keeps its position (rule 11.9)."""
        if self.incomplete.pop(entry.number, None) is not None:
            self.completed.append(entry)


@mypyc_attr(allow_interpreted_subclasses=True)
class UnorderedStreamElementQueue:
    """A list of segments; only the first one emits completed elements (rules 11.6 to 11.10).

    Flink: UnorderedStreamElementQueue.
    """

    __slots__ = ("capacity", "_segments", "_segment_of", "_size")

    def __init__(self, capacity: int) -> None:
        self.capacity = checked_capacity(capacity)
        self._segments: deque[Segment] = deque()
        self._segment_of: dict[int, Segment] = {}
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def try_put(self, entry: QueueEntry) -> bool:
        if self._size >= self.capacity:
            return False
        if isinstance(entry, WatermarkQueueEntry):
            self._add_watermark(entry)
        else:
            segment = self._segments[-1] if self._segments else self._add_segment()
            segment.add(entry)
            self._segment_of[entry.number] = segment
        self._size += 1
        return True

    def _add_watermark(self, entry: WatermarkQueueEntry) -> None:
        """Adds a watermark, which is alone in its segment (rule 11.8).

        The segment is the last one if that is empty, otherwise a new one.
        """
        last = self._segments[-1] if self._segments else None
        (last if last is not None and last.is_empty else self._add_segment()).add(entry)
        self._add_segment()

    def _add_segment(self) -> Segment:
        segment = Segment()
        self._segments.append(segment)
        return segment

    def complete(self, entry: QueueEntry, results: Sequence[Value]) -> None:
        entry.complete(results)
        segment = self._segment_of.pop(entry.number, None)
        if segment is not None:
            segment.complete(entry)

    @property
    def has_completed_elements(self) -> bool:
        return bool(self._segments) and bool(self._segments[0].completed)

    def emit_completed_element(self, output: Output) -> QueueEntry | None:
        """Emits one element of the first segment (rule 11.10).

        Drops the segment if it is empty and other segments follow.
        """
        if not self._segments:
            return None
        first, emitted = self._segments[0], None
        if first.completed:
            emitted = first.completed.popleft()
            emitted.emit_result(output)
            self._size -= 1
        if len(self._segments) > 1 and first.is_empty:
            self._segments.popleft()
        return emitted

    @property
    def pending(self) -> list[StreamRecordQueueEntry]:
        incomplete = (entry for segment in self._segments for entry in segment.incomplete.values())
        return [entry for entry in incomplete if isinstance(entry, StreamRecordQueueEntry)]

    def values(self) -> list[StreamElement]:
        """Returns the elements by segment: the completed elements in order of completion, then the incomplete elements.

        In Flink the incomplete elements have the order of a HashSet.
        """
        return [
            entry.element for segment in self._segments for entry in (*segment.completed, *segment.incomplete.values())
        ]
