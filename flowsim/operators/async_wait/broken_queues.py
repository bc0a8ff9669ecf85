"""Queues of an async operator that break one rule each: what some faults put in place of the right one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flowsim.operators.async_wait.result_future import ResultFuture
from flowsim.operators.async_wait.stream_element_queue import (
    OrderedStreamElementQueue,
    QueueEntry,
    StreamElementQueue,
    StreamRecordQueueEntry,
    WatermarkQueueEntry,
)
from flowsim.operators.async_wait.unordered_stream_element_queue import UnorderedStreamElementQueue
from flowsim.operators.stream_operator import Output, Value
from flowsim.streamrecord.elements import LatencyMarker, OutputTag, StreamElement, WatermarkStatus


class _Nowhere:
    """An output that nobody reads."""

    def collect(self, value: Value, timestamp: int | None) -> None:
        return

    def collect_side(self, tag: OutputTag, value: Value, timestamp: int | None) -> None:
        return

    def emit_watermark(self, timestamp: int) -> None:
        return

    def emit_watermark_status(self, status: WatermarkStatus) -> None:
        return

    def emit_latency_marker(self, marker: LatencyMarker) -> None:
        return


class _Deaf:
    """A future that takes no answer."""

    def complete(self, results: Sequence[Value]) -> None:
        return

    def complete_from(self, supplier: Callable[[], Sequence[Value]]) -> None:
        return

    def complete_exceptionally(self, error: BaseException) -> None:
        return


class BrokenQueue:
    """A queue as it should be; what breaks it overrides one door, and breaks it once."""

    __slots__ = ("_queue", "_is_broken")

    def __init__(self, queue: StreamElementQueue) -> None:
        self._queue = queue
        self._is_broken = False

    @property
    def capacity(self) -> int:
        return self._queue.capacity

    @capacity.setter
    def capacity(self, capacity: int) -> None:
        self._queue.capacity = capacity

    def __len__(self) -> int:
        return len(self._queue)

    def try_put(self, entry: QueueEntry) -> bool:
        return self._queue.try_put(entry)

    def complete(self, entry: QueueEntry, results: Sequence[Value]) -> None:
        self._queue.complete(entry, results)

    @property
    def has_completed_elements(self) -> bool:
        return self._queue.has_completed_elements

    def emit_completed_element(self, output: Output) -> QueueEntry | None:
        return self._queue.emit_completed_element(output)

    @property
    def pending(self) -> list[StreamRecordQueueEntry]:
        return self._queue.pending

    def values(self) -> list[StreamElement]:
        return self._queue.values()


class QueueThatLetsAWatermarkPass(BrokenQueue):
    """The first watermark that finds records waiting leaves before them."""

    __slots__ = ("_ahead",)

    def __init__(self, queue: StreamElementQueue) -> None:
        super().__init__(queue)
        self._ahead: list[QueueEntry] = []

    def __len__(self) -> int:
        return len(self._queue) + len(self._ahead)

    def try_put(self, entry: QueueEntry) -> bool:
        if self._is_broken or isinstance(entry, StreamRecordQueueEntry) or not self._queue.pending:
            return self._queue.try_put(entry)
        if len(self) >= self.capacity:
            return False
        self._is_broken = True
        self._ahead.append(entry)
        return True

    @property
    def has_completed_elements(self) -> bool:
        return bool(self._ahead) or self._queue.has_completed_elements

    def emit_completed_element(self, output: Output) -> QueueEntry | None:
        if not self._ahead:
            return self._queue.emit_completed_element(output)
        entry = self._ahead.pop()
        entry.emit_result(output)
        return entry


class QueueThatLosesItsHead(BrokenQueue):
    """The first element that could be emitted is gone; nobody hears of it."""

    __slots__ = ()

    def emit_completed_element(self, output: Output) -> QueueEntry | None:
        if self._is_broken or not self._queue.has_completed_elements:
            return self._queue.emit_completed_element(output)
        self._is_broken = True
        self._queue.emit_completed_element(_Nowhere())
        return None


class QueueThatEmitsTwice(BrokenQueue):
    """The first results are handed on twice."""

    __slots__ = ()

    def emit_completed_element(self, output: Output) -> QueueEntry | None:
        entry = self._queue.emit_completed_element(output)
        if entry is not None and entry.results and not self._is_broken:
            self._is_broken = True
            entry.emit_result(output)
        return entry


class QueueThatKeepsAWatermark(BrokenQueue):
    """The first watermark that leaves reaches no output."""

    __slots__ = ()

    def emit_completed_element(self, output: Output) -> QueueEntry | None:
        kept = _Keeping(output, self._is_broken)
        entry = self._queue.emit_completed_element(kept)
        self._is_broken = self._is_broken or isinstance(entry, WatermarkQueueEntry)
        return entry


class _Keeping(_Nowhere):
    """An output for one element, which lets records through, and watermarks if it is told so."""

    def __init__(self, output: Output, passes: bool) -> None:
        self._output = output
        self._passes = passes

    def collect(self, value: Value, timestamp: int | None) -> None:
        self._output.collect(value, timestamp)

    def emit_watermark(self, timestamp: int) -> None:
        if self._passes:
            self._output.emit_watermark(timestamp)


class QueueThatForgetsAnOutcome(BrokenQueue):
    """The first results never get to their element."""

    __slots__ = ()

    def complete(self, entry: QueueEntry, results: Sequence[Value]) -> None:
        if self._is_broken:
            self._queue.complete(entry, results)
        self._is_broken = True


class QueueThatSwapsResults(BrokenQueue):
    """The first two elements that are done get each other's results."""

    __slots__ = ("_held",)

    def __init__(self, queue: StreamElementQueue) -> None:
        super().__init__(queue)
        self._held: tuple[QueueEntry, Sequence[Value]] | None = None

    def complete(self, entry: QueueEntry, results: Sequence[Value]) -> None:
        if self._is_broken:
            self._queue.complete(entry, results)
        elif self._held is None:
            self._held = entry, results
        else:
            self._is_broken = True
            other, of_other = self._held
            self._queue.complete(other, results)
            self._queue.complete(entry, of_other)


class QueueThatTimesOutTheDone(BrokenQueue):
    """The function is told that time ran out for the first element that is done."""

    __slots__ = ("_time_out",)

    def __init__(
        self, queue: StreamElementQueue, time_out: Callable[[StreamRecordQueueEntry, ResultFuture], None]
    ) -> None:
        super().__init__(queue)
        self._time_out = time_out

    def complete(self, entry: QueueEntry, results: Sequence[Value]) -> None:
        self._queue.complete(entry, results)
        if not self._is_broken and isinstance(entry, StreamRecordQueueEntry):
            self._is_broken = True
            self._time_out(entry, _Deaf())


class OrderedQueueThatLetsPass(OrderedStreamElementQueue):
    """A record that is done does not wait for the head."""

    __slots__ = ()

    @property
    def has_completed_elements(self) -> bool:
        return bool(self._entries) and (self._entries[0].is_done or self._first_done() is not None)

    def emit_completed_element(self, output: Output) -> QueueEntry | None:
        passing = self._first_done()
        if passing is not None and not self._entries[0].is_done:
            self._entries.remove(passing)
            self._entries.appendleft(passing)
        return super().emit_completed_element(output)

    def _first_done(self) -> QueueEntry | None:
        return next((entry for entry in self._entries if entry.is_done and entry.results), None)


class OrderedQueueThatEmitsTheUnfinished(OrderedStreamElementQueue):
    """Its head leaves, done or not, when a record behind it is done."""

    __slots__ = ()

    @property
    def has_completed_elements(self) -> bool:
        return any(isinstance(entry, StreamRecordQueueEntry) and entry.is_done for entry in self._entries) or (
            super().has_completed_elements
        )

    def emit_completed_element(self, output: Output) -> QueueEntry | None:
        if not self.has_completed_elements:
            return None
        head = self._entries.popleft()
        head.emit_result(output)
        return head


class UnorderedQueueThatDropsSegments(UnorderedStreamElementQueue):
    """When nothing of the first segment is done, the next one is the first, whatever was in the one before."""

    __slots__ = ()

    def emit_completed_element(self, output: Output) -> QueueEntry | None:
        emitted = super().emit_completed_element(output)
        first = self._segments[0]
        if len(self._segments) > 1 and not first.completed:
            self._size -= len(first.incomplete)
            self._segments.popleft()
        return emitted
