"""The asynchronous part of a checkpoint: write the copies, then acknowledge. Flink: AsyncCheckpointRunnable."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Protocol

from flowsim.network.checkpointing.checkpoint_metrics import CheckpointMetaData, CheckpointMetrics
from flowsim.network.checkpointing.checkpointable import Clock
from flowsim.state.redistribution.operator_state import FINISHED_ON_RESTORE, TaskStateSnapshot
from flowsim.streamrecord.checkpoint_exception import CheckpointException, CheckpointFailureReason
from flowsim.tasks.checkpointing.channel_state_writer import ChannelStateWriteResult
from flowsim.tasks.checkpointing.operator_chain_checkpoints import OperatorSnapshotFutures
from flowsim.units import NS_PER_MS


class TaskStateManager(Protocol):
    """Reports the task's checkpoints to their coordinator. Flink: TaskStateManager, Environment."""

    def report_task_state_snapshots(
        self, meta_data: CheckpointMetaData, metrics: CheckpointMetrics, snapshot: TaskStateSnapshot
    ) -> None:
        """Acknowledges a checkpoint."""

    def report_incomplete_task_state_snapshots(self, meta_data: CheckpointMetaData, metrics: CheckpointMetrics) -> None:
        """Reports the measurements of a checkpoint that the task aborted."""

    def decline_checkpoint(self, checkpoint_id: int, cause: CheckpointException) -> None: ...

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """Called after the operators were notified; local state of older checkpoints is not needed any more."""

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        """Called after the operators were notified; local state of the checkpoint is not needed."""


class CheckpointedTask(Protocol):
    """The task of a checkpoint. Flink: StreamTask."""

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
        "_clock",
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
        clock: Clock,
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
        self._clock = clock
        self._created_ns = clock.now_ns
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
            self._metrics.async_duration_ms = (self._clock.now_ns - self._created_ns) // NS_PER_MS
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
