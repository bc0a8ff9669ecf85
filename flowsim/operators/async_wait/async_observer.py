"""Records the facts of an async operator (tables ``async_elements`` and ``system_timers``)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from flowsim.errors import ValueNotAllowed
from flowsim.facts.kinds import AsyncAction, ElementKind, SystemTimer, TimerAction
from flowsim.facts.tracer import TaskTrace
from flowsim.operators.async_wait.result_future import wrong_results
from flowsim.operators.async_wait.stream_element_queue import QueueEntry, StreamRecordQueueEntry, WatermarkQueueEntry
from flowsim.operators.stream_operator import Value
from flowsim.timers.processing_time_service import ProcessingTimeService, TimerHandle
from flowsim.units import NO_TIMESTAMP


class AsyncTrace:
    """Records the steps of queue entries as facts."""

    __slots__ = ("_trace", "_operator", "_put", "_put_fingerprint")

    def __init__(self, trace: TaskTrace, operator_index: int) -> None:
        self._trace = trace
        self._operator = operator_index
        self._put: object = _NONE
        """The last enqueued record, until the function is called; the record cannot change before the call."""
        self._put_fingerprint = 0

    def put(self, entry: QueueEntry, queued: int) -> None:
        """Records that the element entered the queue."""
        if isinstance(entry, WatermarkQueueEntry):
            self._element(entry.number, AsyncAction.PUT, ElementKind.WATERMARK, entry.timestamp, 0, 0, 0, queued)
            return
        number = self._fingerprint(entry.timestamp, entry.value)
        self._put, self._put_fingerprint = entry.value, number
        self._element(entry.number, AsyncAction.PUT, ElementKind.RECORD, _time(entry), number, 0, 0, queued)

    def give(self, entry: StreamRecordQueueEntry, value: Value, action: AsyncAction, attempt: int, queued: int) -> None:
        """Records that the function is called with ``value``, first or in a retry."""
        number = self._put_fingerprint if value is self._put else self._fingerprint(entry.timestamp, value)
        self._put = _NONE
        self._element(entry.number, action, ElementKind.RECORD, _time(entry), number, attempt, 0, queued)

    def fail(self, entry: StreamRecordQueueEntry, queued: int) -> None:
        """Records that the element failed with an error."""
        self._element(entry.number, AsyncAction.FAIL, ElementKind.RECORD, _time(entry), 0, 0, 0, queued)

    def completed(self, entry: StreamRecordQueueEntry, results: object, queued: int) -> None:
        """Records the results of the element; None: the task computes the results later."""
        mixed, rows = self._compared(entry.timestamp, results)
        self._element(entry.number, AsyncAction.COMPLETE, ElementKind.RECORD, _time(entry), mixed, 0, rows, queued)

    def emit(self, entry: QueueEntry, queued: int) -> None:
        """Records that the element left the queue and its results were emitted."""
        if isinstance(entry, WatermarkQueueEntry):
            self._element(entry.number, AsyncAction.EMIT, ElementKind.WATERMARK, entry.timestamp, 0, 0, 0, queued)
            return
        mixed, rows = self._mixed(entry.timestamp, entry.results), len(entry.results)
        self._element(entry.number, AsyncAction.EMIT, ElementKind.RECORD, _time(entry), mixed, 0, rows, queued)

    def _element(
        self,
        entry: int,
        action: AsyncAction,
        kind: ElementKind,
        timestamp: int,
        fingerprints: int,
        attempt: int,
        rows: int,
        queued: int,
    ) -> None:
        self._trace.async_element(self._operator, entry, action, kind, timestamp, fingerprints, attempt, rows, queued)

    def _compared(self, timestamp: int | None, results: object) -> tuple[int, int]:
        """Returns the fingerprint and the number of results, which a law compares with the emission.

        Returns 0 and -1 for invalid results, which fail later in the mail.
        """
        if not isinstance(results, Sequence) or wrong_results(results) is not None:
            return 0, -1
        return self._mixed(timestamp, results), len(results)

    def _mixed(self, timestamp: int | None, results: Sequence[Value]) -> int:
        mixed = 0
        for result in results:
            mixed ^= self._fingerprint(timestamp, result)
        return mixed

    def _fingerprint(self, timestamp: int | None, value: Value) -> int:
        """Returns the fingerprint of a value; 0 for an invalid value, for which the encoder raises an error later."""
        try:
            return self._trace.fingerprint(timestamp, value)
        except ValueNotAllowed:
            return 0


class RecordedTimer:
    """A timer of an element that records its actions."""

    __slots__ = ("_callback", "_entry", "_handle", "_is_over", "_kind", "_operator", "_timestamp", "_trace")

    _handle: TimerHandle

    def __init__(
        self,
        trace: TaskTrace,
        operator: int,
        kind: SystemTimer,
        entry: int,
        timestamp: int,
        callback: Callable[[], None],
    ) -> None:
        self._trace = trace
        self._operator = operator
        self._kind = kind
        self._entry = entry
        self._timestamp = timestamp
        self._callback = callback
        self._is_over = False

    def register(self, times: ProcessingTimeService) -> RecordedTimer:
        """Registers the timer."""
        self._record(TimerAction.REGISTER)
        self._handle = times.register_timer(self._timestamp, self._fire)
        return self

    def cancel(self) -> None:
        self._end(TimerAction.DELETE)
        self._handle.cancel()

    def _fire(self, timestamp: int) -> None:
        """Records and runs the timer; also for a cancelled timer whose mail was already in the mailbox."""
        self._end(TimerAction.FIRE)
        self._callback()

    def _end(self, action: TimerAction) -> None:
        if not self._is_over:
            self._is_over = True
            self._record(action)

    def _record(self, action: TimerAction) -> None:
        self._trace.system_timer(self._operator, action, self._kind, self._entry, self._timestamp)


_NONE: Final = object()


def _time(entry: StreamRecordQueueEntry) -> int:
    return NO_TIMESTAMP if entry.timestamp is None else entry.timestamp
