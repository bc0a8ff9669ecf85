"""The asynchronous part of a checkpoint: write the copies, then acknowledge; and the thread that runs these parts.

Flink: AsyncCheckpointRunnable, StreamTask (asyncOperationsThreadPool).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from enum import Enum
from typing import Protocol

from flowsim.graph.checkpoint_settings import CheckpointSettings
from flowsim.network.channel_state_writer import ChannelStateWriteResult
from flowsim.network.checkpointing.checkpoint_metrics import CheckpointMetaData, CheckpointMetrics
from flowsim.network.checkpointing.checkpointable import DelayableTimer
from flowsim.sim.origin import Origin
from flowsim.sim.scheduler import Scheduler, Timer
from flowsim.state.redistribution.operator_state import FINISHED_ON_RESTORE, TaskStateSnapshot
from flowsim.streamrecord.checkpoint_exception import CheckpointException, CheckpointFailureReason
from flowsim.task_clock import Clock
from flowsim.tasks.checkpointing.job_master_gateway import TaskStateManager
from flowsim.tasks.checkpointing.stream_operator_state_handler import OperatorSnapshotFutures
from flowsim.units import NS_PER_MS, NS_PER_SECOND


class CheckpointedTask(Clock, DelayableTimer, Protocol):
    """The task of a checkpoint. Flink: StreamTask.

    A Protocol, because the task's checkpoints import the classes that use it.
    """

    @property
    def is_running(self) -> bool:
        """Returns False before the task runs, and after it ended (rules 12.69, 12.70)."""


class _State(Enum):
    """What happened to a runnable."""

    RUNNING = 0
    DISCARDED = 1
    COMPLETED = 2


class AsyncCheckpointRunnable:
    """Runs once, after earlier ones of the task (rule 12.67). Flink: AsyncCheckpointRunnable.

    ``on_finished`` is called when it has run. Until ``is_ready`` it waits for channel state (rule 12.68).
    """

    __slots__ = (
        "meta_data",
        "_snapshots",
        "_channel_state",
        "_metrics",
        "_manager",
        "_task",
        "_created_ns",
        "_is_deployed_as_finished",
        "_is_task_finished",
        "_on_finished",
        "_state",
    )

    def __init__(
        self,
        meta_data: CheckpointMetaData,
        metrics: CheckpointMetrics,
        snapshots: dict[str, OperatorSnapshotFutures],
        channel_state: ChannelStateWriteResult,
        manager: TaskStateManager,
        task: CheckpointedTask,
        on_finished: Callable[[AsyncCheckpointRunnable], None],
        *,
        is_deployed_as_finished: bool,
        is_task_finished: bool,
    ) -> None:
        self.meta_data = meta_data
        self._metrics = metrics
        self._snapshots = snapshots
        self._channel_state = channel_state
        self._manager = manager
        self._task = task
        self._created_ns = task.now_ns
        self._is_deployed_as_finished = is_deployed_as_finished
        self._is_task_finished = is_task_finished
        self._on_finished = on_finished
        self._state = _State.RUNNING

    @property
    def is_ready(self) -> bool:
        """Returns True if the channel state is stored, or failed."""
        return self._channel_state.is_done

    def when_ready(self, callback: Callable[[], None]) -> None:
        """Calls back once, as soon as the runnable is ready."""
        self._channel_state.when_done(callback)

    @property
    def written_bytes(self) -> int:
        """The size of the state that ``run`` writes."""
        stored = self._channel_state
        operators = sum(snapshot.size_bytes for snapshot in self._snapshots.values())
        return operators + stored.input_bytes + stored.output_bytes

    def run(self) -> None:
        """Writes the state and acknowledges it; a failure declines the checkpoint (rule 12.7)."""
        try:
            snapshot = self._finalize_snapshots()
            self._metrics.async_duration_ms = (self._task.now_ns - self._created_ns) // NS_PER_MS
            if self._state is _State.RUNNING:
                self._state = _State.COMPLETED
                self._manager.report_task_state_snapshots(self.meta_data, self._metrics, snapshot)
        except Exception as error:
            self._decline(error)
        finally:
            self._on_finished(self)

    def close(self) -> None:
        """Discards the state, unless it has run (rule 12.69)."""
        if self._state is _State.RUNNING:
            self._state = _State.DISCARDED
            self._cancel_snapshots()
            self._manager.report_incomplete_task_state_snapshots(self.meta_data, self._metrics)

    def _finalize_snapshots(self) -> TaskStateSnapshot:
        for stored in (self._channel_state.input_channels, self._channel_state.result_subpartitions):
            if stored.error is not None:
                raise stored.error
        if self._is_deployed_as_finished:
            return FINISHED_ON_RESTORE
        states = {operator: snapshot.finalize() for operator, snapshot in self._snapshots.items()}
        self._metrics.input_bytes_persisted = self._channel_state.input_bytes
        self._metrics.output_bytes_persisted = self._channel_state.output_bytes
        self._channel_state.write_to(states)
        return TaskStateSnapshot(states, is_task_finished=self._is_task_finished)

    def _decline(self, error: Exception) -> None:
        if self._state is _State.DISCARDED:
            return
        self._state = _State.DISCARDED
        self._cancel_snapshots()
        if self._task.is_running:
            self._manager.decline_checkpoint(self.meta_data.checkpoint_id, CheckpointException(reason_of(error)))

    def _cancel_snapshots(self) -> None:
        for snapshot in self._snapshots.values():
            snapshot.cancel()


def reason_of(error: BaseException) -> CheckpointFailureReason:
    """Returns the reason of the first CheckpointException among ``error`` and its causes (rule 12.7)."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, CheckpointException):
            return cause.reason
        cause = cause.__cause__
    return CheckpointFailureReason.CHECKPOINT_ASYNC_EXCEPTION


class ClosingOperation:
    """Closes a runnable that the pool may not have run yet."""

    __slots__ = ("_runnable",)

    def __init__(self, runnable: AsyncCheckpointRunnable) -> None:
        self._runnable = runnable

    def run(self) -> None:
        self._runnable.close()


AsyncOperation = AsyncCheckpointRunnable | ClosingOperation


class AsyncOperations:
    """Runs operations outside the mailbox in virtual time, one after the other, in order (rule 12.67).

    Writing takes the configured latency, and the time to write the bytes at the configured rate. ``now_ns``: the time of
    the caller, which may be ahead of the scheduler inside a batch. Flink: StreamTask (asyncOperationsThreadPool).
    """

    __slots__ = (
        "_origin",
        "_scheduler",
        "_now_ns",
        "_settings",
        "_queue",
        "_free_at_ns",
        "_unready",
        "_timers",
        "_on_done",
    )

    def __init__(
        self,
        scheduler: Scheduler,
        actor_id: int,
        now_ns: Callable[[], int],
        settings: CheckpointSettings,
        on_done: Callable[[], None],
    ) -> None:
        """``on_done`` is called after each operation."""
        self._origin = Origin("snapshot", actor_id)
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
        self._timers.append(self._scheduler.call_at_ns(self._free_at_ns, self._run_next, origin=self._origin))

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
