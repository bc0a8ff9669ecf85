"""Runs the asynchronous parts of a task's checkpoints in virtual time, one after the other (rule 12.67)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from flowsim.graph.checkpoint_settings import CheckpointSettings
from flowsim.sim.scheduler import Scheduler, Timer
from flowsim.tasks.checkpointing.async_checkpoint_runnable import AsyncCheckpointRunnable
from flowsim.tasks.checkpointing.subtask_checkpoint_coordinator import AsyncOperation
from flowsim.units import NS_PER_SECOND


class AsyncOperations:
    """A pool with one thread. Flink: asyncOperationsThreadPool.

    Writing takes the configured latency, and the time to write the bytes at the configured rate.

    ``now_ns``: the time of the caller, which may be ahead of the scheduler inside a batch.
    """

    __slots__ = ("_scheduler", "_now_ns", "_settings", "_queue", "_free_at_ns", "_unready", "_timers", "_on_done")

    def __init__(
        self,
        scheduler: Scheduler,
        now_ns: Callable[[], int],
        settings: CheckpointSettings,
        on_done: Callable[[], None],
    ) -> None:
        """``on_done`` is called after each operation."""
        self._scheduler = scheduler
        self._now_ns = now_ns
        self._settings = settings
        self._queue: deque[AsyncOperation] = deque()
        self._timers: deque[Timer] = deque()
        self._unready: deque[AsyncOperation] = deque()
        """Operations that wait for channel state, and those behind them (rule 12.68)."""
        self._free_at_ns = 0
        self._on_done = on_done

    def execute(self, operation: AsyncOperation) -> None:
        """Runs the operation when the earlier ones have ended and its own time has passed."""
        if self._unready or not _is_ready(operation):
            self._unready.append(operation)
            if len(self._unready) == 1:
                self._await_first()
        else:
            self._schedule(operation)

    def _await_first(self) -> None:
        """Waits for the channel state of the first operation that is not ready; the later ones wait behind it."""
        first = self._unready[0]
        if isinstance(first, AsyncCheckpointRunnable):
            first.when_ready(self._on_ready)

    def _on_ready(self) -> None:
        while self._unready and _is_ready(self._unready[0]):
            self._schedule(self._unready.popleft())
        if self._unready:
            self._await_first()

    def _schedule(self, operation: AsyncOperation) -> None:
        self._free_at_ns = max(self._now_ns(), self._free_at_ns) + self._duration_ns(operation)
        self._queue.append(operation)
        self._timers.append(self._scheduler.call_at_ns(self._free_at_ns, self._run_next, origin=self))

    def _duration_ns(self, operation: AsyncOperation) -> int:
        if not isinstance(operation, AsyncCheckpointRunnable):
            return 0
        latency_ns, rate = self._settings.async_latency_ns, self._settings.async_bytes_per_second
        return latency_ns if rate is None else latency_ns - (-operation.written_bytes * NS_PER_SECOND // rate)

    def close(self) -> None:
        """Drops the operations that have not run."""
        self._queue.clear()
        self._unready.clear()
        while self._timers:
            self._timers.popleft().cancel()

    def _run_next(self) -> None:
        self._timers.popleft()
        self._queue.popleft().run()
        self._on_done()


def _is_ready(operation: AsyncOperation) -> bool:
    return not isinstance(operation, AsyncCheckpointRunnable) or operation.is_ready
