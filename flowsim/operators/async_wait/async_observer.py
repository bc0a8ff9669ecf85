"""What an async operator reports (table ``async_elements``)."""

from __future__ import annotations

from collections.abc import Sequence

from flowsim.errors import ValueNotAllowed
from flowsim.facts.kinds import AsyncAction, ElementKind
from flowsim.facts.tracer import TaskTrace
from flowsim.operators.async_wait.result_future import wrong_results
from flowsim.operators.async_wait.stream_element_queue import QueueEntry, StreamRecordQueueEntry, WatermarkQueueEntry
from flowsim.operators.stream_operator import Value
from flowsim.units import NO_TIMESTAMP


class AsyncTrace:
    """Turns the steps of queue entries into facts."""

    __slots__ = ("_trace", "_operator")

    def __init__(self, trace: TaskTrace, operator_index: int) -> None:
        self._trace = trace
        self._operator = operator_index

    def put(self, entry: QueueEntry, queued: int) -> None:
        """It got its place in the queue."""
        if isinstance(entry, WatermarkQueueEntry):
            self._element(entry.number, AsyncAction.PUT, ElementKind.WATERMARK, entry.timestamp, 0, 0, 0, queued)
            return
        number = self._fingerprint(entry.timestamp, entry.value)
        self._element(entry.number, AsyncAction.PUT, ElementKind.RECORD, _time(entry), number, 0, 0, queued)

    def step(self, entry: StreamRecordQueueEntry, action: AsyncAction, attempt: int, rows: int, queued: int) -> None:
        """The function is called, an outcome is taken, and the like."""
        self._element(entry.number, action, ElementKind.RECORD, _time(entry), 0, attempt, rows, queued)

    def completed(self, entry: StreamRecordQueueEntry, results: object, queued: int) -> None:
        """Its results are taken; None: they are made later, in the task."""
        mixed, rows = self._told(entry.timestamp, results)
        self._element(entry.number, AsyncAction.COMPLETE, ElementKind.RECORD, _time(entry), mixed, 0, rows, queued)

    def emit(self, entry: QueueEntry, queued: int) -> None:
        """It left the queue, and its results were handed on."""
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

    def _told(self, timestamp: int | None, results: object) -> tuple[int, int]:
        """What a judge can hold the emission against; nothing, of what is no list of results: that fails later, in the mail."""
        if not isinstance(results, Sequence) or wrong_results(results) is not None:
            return 0, -1
        return self._mixed(timestamp, results), len(results)

    def _mixed(self, timestamp: int | None, results: Sequence[Value]) -> int:
        mixed = 0
        for result in results:
            mixed ^= self._fingerprint(timestamp, result)
        return mixed

    def _fingerprint(self, timestamp: int | None, value: Value) -> int:
        """0 of what is no value: whoever must encode it refuses it, recorded or not."""
        try:
            return self._trace.fingerprint(timestamp, value)
        except ValueNotAllowed:
            return 0


def _time(entry: StreamRecordQueueEntry) -> int:
    return NO_TIMESTAMP if entry.timestamp is None else entry.timestamp
