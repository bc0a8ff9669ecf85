"""What waits in the queues of the legacy design: a future that tells others when it is done.

Flink (1.2 to 1.9): StreamElementQueueEntry, StreamRecordQueueEntry, WatermarkQueueEntry.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flowsim.operators.async_wait import stream_element_queue as mailbox_design
from flowsim.operators.async_wait.result_future import checked_error
from flowsim.operators.stream_operator import Value

Executor = Callable[[Callable[[], None]], None]
"""Runs what it is given, one after the other, on a thread of its own."""

UNNUMBERED = -1
"""Of an entry that has no place in the queue yet."""


class FutureRecordEntry(mailbox_design.StreamRecordQueueEntry):
    """A record and the future of its results, or of its error; the first outcome counts (rule 11.31).

    Who asks is told through an executor, at once when the outcome is there already.
    """

    __slots__ = ("error", "_told")

    def __init__(self, value: Value, timestamp: int | None) -> None:
        super().__init__(UNNUMBERED, value, timestamp)
        self.error: BaseException | None = None
        self._told: list[tuple[Callable[[], None], Executor]] = []

    def complete(self, results: Sequence[Value]) -> None:
        """Ignored when there is an outcome already; a value of None counts as no results, as in Flink 1.8."""
        self._finish(() if results is None else results, None)

    def complete_exceptionally(self, error: BaseException) -> None:
        """Ignored when there is an outcome already."""
        self._finish((), checked_error(error))

    def on_complete(self, callback: Callable[[], None], executor: Executor) -> None:
        """Java's future tells those first who asked last."""
        if self.is_done:
            executor(callback)
        else:
            self._told.append((callback, executor))

    def _finish(self, results: Sequence[Value], error: BaseException | None) -> None:
        if self.is_done:
            return
        self.results, self.error = results, error
        self.is_done = True
        told, self._told = self._told, []
        for callback, executor in reversed(told):
            executor(callback)


class DoneWatermarkEntry(mailbox_design.WatermarkQueueEntry):
    """A watermark: its future is done from the start."""

    __slots__ = ()

    def __init__(self, timestamp: int) -> None:
        super().__init__(UNNUMBERED, timestamp)

    def on_complete(self, callback: Callable[[], None], executor: Executor) -> None:
        executor(callback)


FutureEntry = FutureRecordEntry | DoneWatermarkEntry
