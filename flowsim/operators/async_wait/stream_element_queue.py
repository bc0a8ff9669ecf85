"""What waits in an async operator, in which order it leaves. Flink: StreamElementQueue, StreamElementQueueEntry."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from flowsim.errors import BadInput, InvariantViolation
from flowsim.operators.async_wait.result_future import checked_results
from flowsim.operators.stream_operator import Output, Value
from flowsim.streamrecord.elements import StreamElement, StreamRecord, Watermark


class StreamRecordQueueEntry:
    """A record whose results are awaited. Flink: StreamRecordQueueEntry.

    ``number`` counts the elements of the operator from 0; ``is_done`` once results were given, which may be none;
    ``timed_out`` once the function was asked about its timeout.
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
        """Raises TypeError for what is no list of results, such as None (rule 11.12)."""
        self.results = checked_results(results)
        self.is_done = True

    def emit_result(self, output: Output) -> None:
        """The results with the timestamp of the record (rule 11.14)."""
        for result in self.results:
            output.collect(result, self.timestamp)


class WatermarkQueueEntry:
    """A watermark: done from the start. Flink: WatermarkQueueEntry."""

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
        """Raises InvariantViolation: nobody awaits the results of a watermark."""
        raise InvariantViolation("a watermark cannot be completed")

    def emit_result(self, output: Output) -> None:
        output.emit_watermark(self.timestamp)


QueueEntry = StreamRecordQueueEntry | WatermarkQueueEntry


def checked_capacity(capacity: int) -> int:
    """``capacity`` itself; raises BadInput when no element could find a place."""
    if capacity < 1:
        raise BadInput(f"the capacity of an async operator must be at least 1, got {capacity}")
    return capacity


class StreamElementQueue(Protocol):
    """A queue of at most ``capacity`` elements, watermarks included (rule 11.5). Flink: StreamElementQueue."""

    capacity: int

    def __len__(self) -> int: ...

    def try_put(self, entry: QueueEntry) -> bool:
        """Whether there was space for it."""

    def complete(self, entry: QueueEntry, results: Sequence[Value]) -> None:
        """The results of one that is in the queue; it may be emitted in its turn. Later results replace them.

        Raises TypeError for what is no list of results, InvariantViolation for a watermark.
        """

    @property
    def has_completed_elements(self) -> bool:
        """Whether one can be emitted now."""

    def emit_completed_element(self, output: Output) -> QueueEntry | None:
        """Emits exactly one, if it can; answers which."""

    @property
    def pending(self) -> list[StreamRecordQueueEntry]:
        """The records whose results were not given yet, as they came."""

    def values(self) -> list[StreamElement]:
        """All that a snapshot must hold, in the order in which they would be put in again (rule 11.20)."""
