"""Faulty async operators: faults of the queue, the function and the life cycle."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Final

from flowsim.facts.kinds import SystemTimer
from flowsim.operators.async_wait.async_wait_operator import AsyncWaitOperator
from flowsim.operators.async_wait.result_future import AsyncFunction, ResultFuture
from flowsim.operators.async_wait.result_handler import ResultHandler, RetryableResultHandlerDelegator
from flowsim.operators.async_wait.stream_element_queue import (
    OrderedStreamElementQueue,
    QueueEntry,
    StreamElementQueue,
    StreamRecordQueueEntry,
    WatermarkQueueEntry,
)
from flowsim.operators.async_wait.unordered_stream_element_queue import UnorderedStreamElementQueue
from flowsim.operators.runtime_context import RuntimeContext
from flowsim.operators.stream_operator import Value
from flowsim.streamrecord.elements import LatencyMarker, StreamElement, WatermarkStatus
from flowsim.streamrecord.output import Output
from flowsim.timers.processing_time_service import TimerHandle


class DiscardingOutput(Output):
    """An output that drops all elements."""

    def collect(self, value: Value, timestamp: int | None) -> None:
        return

    def emit_watermark(self, timestamp: int) -> None:
        return

    def emit_watermark_status(self, status: WatermarkStatus) -> None:
        return

    def emit_latency_marker(self, marker: LatencyMarker) -> None:
        return


class IgnoringResultFuture:
    """A result future that drops its result."""

    def complete(self, results: Sequence[Value]) -> None:
        return

    def complete_from(self, supplier: Callable[[], Sequence[Value]]) -> None:
        return

    def complete_exceptionally(self, error: BaseException) -> None:
        return


class WrappedQueue:
    """Wraps a correct queue. A faulty queue overrides one method, and most faults happen once."""

    __slots__ = ("_queue", "_has_failed")

    def __init__(self, queue: StreamElementQueue) -> None:
        self._queue = queue
        self._has_failed = False

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


class WatermarkPassingQueue(WrappedQueue):
    """Emits the first watermark that arrives while records are pending before these records."""

    __slots__ = ("_ahead",)

    def __init__(self, queue: StreamElementQueue) -> None:
        super().__init__(queue)
        self._ahead: list[QueueEntry] = []

    def __len__(self) -> int:
        return len(self._queue) + len(self._ahead)

    def try_put(self, entry: QueueEntry) -> bool:
        if self._has_failed or isinstance(entry, StreamRecordQueueEntry) or not self._queue.pending:
            return self._queue.try_put(entry)
        if len(self) >= self.capacity:
            return False
        self._has_failed = True
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


class HeadLosingQueue(WrappedQueue):
    """Removes the first completed element from the queue, but emits nothing for it."""

    __slots__ = ()

    def emit_completed_element(self, output: Output) -> QueueEntry | None:
        if self._has_failed or not self._queue.has_completed_elements:
            return self._queue.emit_completed_element(output)
        self._has_failed = True
        self._queue.emit_completed_element(DiscardingOutput())
        return None


class DoubleEmittingQueue(WrappedQueue):
    """Emits the results of the first element twice."""

    __slots__ = ()

    def emit_completed_element(self, output: Output) -> QueueEntry | None:
        entry = self._queue.emit_completed_element(output)
        if entry is not None and entry.results and not self._has_failed:
            self._has_failed = True
            entry.emit_result(output)
        return entry


class WatermarkWithholdingQueue(WrappedQueue):
    """Removes the first watermark from the queue without emitting it."""

    __slots__ = ()

    def emit_completed_element(self, output: Output) -> QueueEntry | None:
        kept = _WithholdingOutput(output, self._has_failed)
        entry = self._queue.emit_completed_element(kept)
        self._has_failed = self._has_failed or isinstance(entry, WatermarkQueueEntry)
        return entry


class _WithholdingOutput(DiscardingOutput):
    """An output for one element. It passes records, and passes watermarks if ``passes``."""

    def __init__(self, output: Output, passes: bool) -> None:
        self._output = output
        self._passes = passes

    def collect(self, value: Value, timestamp: int | None) -> None:
        self._output.collect(value, timestamp)

    def emit_watermark(self, timestamp: int) -> None:
        if self._passes:
            self._output.emit_watermark(timestamp)


class OutcomeForgettingQueue(WrappedQueue):
    """Drops the first results, so that their element never completes."""

    __slots__ = ()

    def complete(self, entry: QueueEntry, results: Sequence[Value]) -> None:
        if self._has_failed:
            self._queue.complete(entry, results)
        self._has_failed = True


class ResultSwappingQueue(WrappedQueue):
    """Swaps the results of the first two completed elements."""

    __slots__ = ("_held",)

    def __init__(self, queue: StreamElementQueue) -> None:
        super().__init__(queue)
        self._held: tuple[QueueEntry, Sequence[Value]] | None = None

    def complete(self, entry: QueueEntry, results: Sequence[Value]) -> None:
        if self._has_failed:
            self._queue.complete(entry, results)
        elif self._held is None:
            self._held = entry, results
        else:
            self._has_failed = True
            other, of_other = self._held
            self._queue.complete(other, results)
            self._queue.complete(entry, of_other)


class CompletedTimingOutQueue(WrappedQueue):
    """Times out the first element after it has completed."""

    __slots__ = ("_time_out",)

    def __init__(
        self, queue: StreamElementQueue, time_out: Callable[[StreamRecordQueueEntry, ResultFuture], None]
    ) -> None:
        super().__init__(queue)
        self._time_out = time_out

    def complete(self, entry: QueueEntry, results: Sequence[Value]) -> None:
        self._queue.complete(entry, results)
        if not self._has_failed and isinstance(entry, StreamRecordQueueEntry):
            self._has_failed = True
            self._time_out(entry, IgnoringResultFuture())


class HeadPassingOrderedQueue(OrderedStreamElementQueue):
    """Emits a completed record before an incomplete head of the queue."""

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


class UnfinishedEmittingOrderedQueue(OrderedStreamElementQueue):
    """Emits the head, completed or not, when a later record is completed."""

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


class SegmentDroppingUnorderedQueue(UnorderedStreamElementQueue):
    """Drops the first segment, with the incomplete records left in it, when none of its records is completed."""

    __slots__ = ()

    def emit_completed_element(self, output: Output) -> QueueEntry | None:
        emitted = super().emit_completed_element(output)
        first = self._segments[0]
        if len(self._segments) > 1 and not first.completed:
            self._size -= len(first.incomplete)
            self._segments.popleft()
        return emitted


class DoubleInvokingFunction:
    """Makes the first call of the function twice."""

    __slots__ = ("_function", "_operator", "_has_repeated")

    def __init__(self, function: AsyncFunction, operator: AsyncWaitOperator) -> None:
        self._function = function
        self._operator = operator
        self._has_repeated = False

    def open(self, runtime_context: RuntimeContext) -> None:
        self._function.open(runtime_context)

    def close(self) -> None:
        self._function.close()

    def async_invoke(self, value: Value, result_future: ResultFuture) -> None:
        self._function.async_invoke(value, result_future)
        if not self._has_repeated and isinstance(result_future, ResultHandler | RetryableResultHandlerDelegator):
            self._has_repeated = True
            self._operator.invoke(result_future.entry, result_future, 2)

    def timeout(self, value: Value, result_future: ResultFuture) -> None:
        self._function.timeout(value, result_future)


class EarlyEndingAsyncWaitOperator(AsyncWaitOperator):
    """Ends the input when all records are completed, although elements are still in the queue."""

    __slots__ = ()

    def end_input(self) -> None:
        self.finish_delayed_retries()
        while self.queue.pending:
            self.ctx.mailbox_executor.yield_()


class RecordReusingAsyncWaitOperator(AsyncWaitOperator):
    """Replaces all pending records by the newest record, as if they shared one object without copies."""

    __slots__ = ()

    def take(self, value: Value, timestamp: int | None) -> None:
        for entry in self.queue.pending:
            entry.value = value
        super().take(value, timestamp)


class TimerKeepingAsyncWaitOperator(AsyncWaitOperator):
    """Never cancels the timers of its elements."""

    __slots__ = ()

    def register_timer(
        self, entry: StreamRecordQueueEntry, kind: SystemTimer, delay_ms: int, callback: Callable[[], None]
    ) -> TimerHandle:
        super().register_timer(entry, kind, delay_ms, callback)
        return LastingTimer()


class LastingTimer:
    """A timer handle that ignores ``cancel``."""

    def cancel(self) -> None:
        """Does nothing: the timer stays registered."""


class RecordSkippingAsyncWaitOperator(AsyncWaitOperator):
    """Counts the first record, but neither puts it into the queue nor calls the function."""

    __slots__ = ()

    def take(self, value: Value, timestamp: int | None) -> None:
        if self.records_in != 1:
            super().take(value, timestamp)


_OPERATORS: Final[dict[str, type[AsyncWaitOperator]]] = {
    "async_emits_after_end": EarlyEndingAsyncWaitOperator,
    "async_record_reused": RecordReusingAsyncWaitOperator,
    "async_timer_kept": TimerKeepingAsyncWaitOperator,
    "async_element_not_put": RecordSkippingAsyncWaitOperator,
}

_QUEUES: Final[dict[str, Callable[[AsyncWaitOperator], StreamElementQueue]]] = {
    "async_watermark_overtakes": lambda operator: WatermarkPassingQueue(operator.queue),
    "async_head_lost": lambda operator: HeadLosingQueue(operator.queue),
    "async_emits_twice": lambda operator: DoubleEmittingQueue(operator.queue),
    "async_outcome_forgotten": lambda operator: OutcomeForgettingQueue(operator.queue),
    "async_results_swapped": lambda operator: ResultSwappingQueue(operator.queue),
    "async_watermark_withheld": lambda operator: WatermarkWithholdingQueue(operator.queue),
    "async_times_out_the_done": lambda operator: CompletedTimingOutQueue(operator.queue, operator.time_out),
    "async_out_of_order": lambda operator: HeadPassingOrderedQueue(operator.capacity),
    "async_emits_unfinished": lambda operator: UnfinishedEmittingOrderedQueue(operator.capacity),
    "async_segment_dropped": lambda operator: SegmentDroppingUnorderedQueue(operator.capacity),
}


def faulty_async_operator(operator: AsyncWaitOperator, faults: Collection[str]) -> AsyncWaitOperator:
    """Returns the operator with these faults; must be called before the operator's set-up."""
    for name, faulty in _OPERATORS.items():
        if name in faults:
            operator = faulty(
                operator.function, operator.timeout_ms, operator.capacity, operator.mode, operator.retry_strategy
            )
    for name, create_queue in _QUEUES.items():
        if name in faults:
            operator.queue = create_queue(operator)
    if "async_over_capacity" in faults:
        operator.queue.capacity += 1
    if "async_calls_again" in faults:
        operator.function = DoubleInvokingFunction(operator.function, operator)
    return operator
