"""Queues of the async operator: entries, base class and the ordered queue. Flink: StreamElementQueue."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Final, Protocol

from mypy_extensions import mypyc_attr

from flowsim.errors import BadInput, InvariantViolation
from flowsim.operators.async_wait.result_future import checked_results
from flowsim.operators.stream_operator import Value
from flowsim.streamrecord.elements import StreamElement, StreamRecord, Watermark
from flowsim.streamrecord.output import Output
from flowsim.units import NO_TIMESTAMP


@mypyc_attr(allow_interpreted_subclasses=True)
class StreamRecordQueueEntry:
    """A record with pending results. Flink: StreamRecordQueueEntry.

    ``number`` counts the elements of the operator from 0; ``is_done`` is True after results, possibly none, were set;
    ``timed_out`` after the function's ``timeout`` was called.
    """

    __slots__ = ("number", "value", "timestamp", "results", "is_done", "timed_out")

    def __init__(self, number: int, value: Value, timestamp: int | None) -> None:
        self.number = number
        self.value = value
        self.timestamp = timestamp
        self.results: Sequence[Value] = ()
        self.is_done = False
        self.timed_out = False

    @property
    def element(self) -> StreamElement:
        return StreamRecord(self.value, self.timestamp)

    def complete(self, results: Sequence[Value]) -> None:
        """Sets the results; raises TypeError unless they are a list of results, e.g. for None (rule 11.12)."""
        self.results = checked_results(results)
        self.is_done = True

    def emit_result(self, output: Output) -> None:
        """Emits the results with the timestamp of the record (rule 11.14)."""
        for result in self.results:
            output.collect(result, self.timestamp)


@mypyc_attr(allow_interpreted_subclasses=True)
class WatermarkQueueEntry:
    """A watermark: completed from the start. Flink: WatermarkQueueEntry."""

    __slots__ = ("number", "timestamp")

    is_done = True
    results: Sequence[Value] = ()

    def __init__(self, number: int, timestamp: int) -> None:
        self.number = number
        self.timestamp = timestamp

    @property
    def element(self) -> StreamElement:
        return Watermark(self.timestamp)

    def complete(self, results: Sequence[Value]) -> None:
        """Raises InvariantViolation: a watermark has no results."""
        raise InvariantViolation("a watermark cannot be completed")

    def emit_result(self, output: Output) -> None:
        output.emit_watermark(self.timestamp)


QueueEntry = StreamRecordQueueEntry | WatermarkQueueEntry


def checked_capacity(capacity: int) -> int:
    """Returns ``capacity``; raises BadInput if it is below 1."""
    if capacity < 1:
        raise BadInput(f"the capacity of an async operator must be at least 1, got {capacity}")
    return capacity


class StreamElementQueue(Protocol):
    """A queue of at most ``capacity`` elements, watermarks included (rule 11.5). Flink: StreamElementQueue."""

    capacity: int

    def __len__(self) -> int: ...

    def try_put(self, entry: QueueEntry) -> bool:
        """Enqueues the element; returns whether there was space."""

    def complete(self, entry: QueueEntry, results: Sequence[Value]) -> None:
        """Sets the results of a queued element, which may then be emitted in order.

        Later results replace earlier results. Raises TypeError for invalid results, InvariantViolation for a watermark.
        """

    @property
    def has_completed_elements(self) -> bool:
        """True if an element can be emitted now."""

    def emit_completed_element(self, output: Output) -> QueueEntry | None:
        """Emits exactly one element, if possible, and returns it."""

    @property
    def pending(self) -> list[StreamRecordQueueEntry]:
        """The records without results, in order of arrival."""

    def values(self) -> list[StreamElement]:
        """Returns the elements for a snapshot, in the order in which they are restored (rule 11.20)."""


_SHOWN: Final = 5


def describe_pending(pending: Sequence[StreamRecordQueueEntry], queued: int, capacity: int) -> str:
    """Describes how many ``queued`` elements have no answer, and the first of them; '' if there are none."""
    if not pending:
        return ""
    shown = ", ".join(_element(entry) for entry in pending[:_SHOWN])
    more = f" and {len(pending) - _SHOWN} more" if len(pending) > _SHOWN else ""
    answers = "the answer to 1 element" if len(pending) == 1 else f"the answers to {len(pending)} elements"
    return f"{answers} ({queued} of {capacity} places taken): {shown}{more}"


def _element(entry: StreamRecordQueueEntry) -> str:
    record = repr(entry.value)
    if len(record) > 100:
        record = record[:100] + "..."
    when = "" if entry.timestamp in (None, NO_TIMESTAMP) else f" @ {entry.timestamp}"
    late = ", whose timeout passed" if entry.timed_out else ""
    return f"number {entry.number}, record {record}{when}{late}"


@mypyc_attr(allow_interpreted_subclasses=True)
class OrderedStreamElementQueue:
    """A first in, first out queue: a completed element waits for all earlier elements (rule 11.5).

    Flink: OrderedStreamElementQueue.
    """

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
