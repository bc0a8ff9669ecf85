"""Takes the checkpoints of one task. Flink: SubtaskCheckpointCoordinatorImpl."""

from __future__ import annotations

from collections.abc import Callable

from flowsim.errors import FlowsimError
from flowsim.facts.kinds import CheckpointStep
from flowsim.network.channel_state_writer import ChannelStateWriter, ChannelStateWriteResult
from flowsim.network.checkpointing.checkpoint_metrics import CheckpointMetaData, CheckpointMetrics
from flowsim.network.completion import Completion
from flowsim.network.errors import IllegalState
from flowsim.sim.scheduler import Timer
from flowsim.streamrecord.checkpoint_exception import CheckpointException
from flowsim.streamrecord.checkpoint_options import AlignmentType, CheckpointOptions
from flowsim.streamrecord.events import CancelCheckpointMarker, CheckpointBarrier
from flowsim.tasks.checkpointing.async_checkpoint_runnable import (
    AsyncCheckpointRunnable,
    AsyncOperations,
    CheckpointedTask,
    ClosingOperation,
)
from flowsim.tasks.checkpointing.checkpoint_observer import CheckpointObserver
from flowsim.tasks.checkpointing.job_master_gateway import TaskStateManager
from flowsim.tasks.checkpointing.stream_operator_state_handler import OperatorSnapshotFutures
from flowsim.tasks.operator_chain import OperatorChain
from flowsim.units import NS_PER_MS

PrepareInputSnapshot = Callable[[ChannelStateWriter, int], Completion[None]]
"""Starts to store the data of the inputs for a checkpoint; completes with the last barrier (rule 12.83)."""


class CheckpointCancelled(FlowsimError):
    """A checkpoint is not taken, because it was aborted. Flink: CancellationException."""


class AbortedCheckpoints:
    """The checkpoints that a task does not take, because they were aborted before its barriers came (rule 12.64).

    At most ``capacity`` ids in the order of their abort notifications, and the highest one ever added.
    Flink: SubtaskCheckpointCoordinatorImpl.
    """

    __slots__ = ("_capacity", "_ids", "_highest")

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._ids: dict[int, None] = {}
        self._highest = 0

    def add(self, checkpoint_id: int) -> None:
        """Adds an id; the oldest one leaves a full memory."""
        self._ids.setdefault(checkpoint_id)
        if len(self._ids) > self._capacity:
            del self._ids[next(iter(self._ids))]
        self._highest = max(self._highest, checkpoint_id)

    def check_and_clear(self, checkpoint_id: int) -> bool:
        """Forgets an id; returns True if the checkpoint was aborted.

        So was a checkpoint that is too old for the memory: the coordinator has at most ``capacity`` pending ones.
        """
        if checkpoint_id in self._ids:
            del self._ids[checkpoint_id]
            return True
        return checkpoint_id + self._capacity < self._highest

    def forget_below(self, checkpoint_id: int) -> None:
        """Forgets ids from the oldest on, up to the first one that is not smaller (rule 12.71)."""
        for aborted in list(self._ids):
            if aborted >= checkpoint_id:
                break
            del self._ids[aborted]


class SubtaskCheckpointCoordinator:
    """Takes, aborts and confirms the checkpoints of one task. Flink: SubtaskCheckpointCoordinatorImpl.

    All methods run in the task's mailbox. ``max_record_aborted_checkpoints`` is the number of concurrent checkpoints.
    Invariant: a checkpoint is taken at most once, and in increasing order of ids (rule 12.5).
    """

    def __init__(
        self,
        chain: OperatorChain,
        prepare_input_snapshot: PrepareInputSnapshot,
        channel_state_writer: ChannelStateWriter,
        pool: AsyncOperations,
        manager: TaskStateManager,
        task: CheckpointedTask,
        max_record_aborted_checkpoints: int,
        observer: CheckpointObserver | None = None,
    ) -> None:
        self.last_checkpoint_id = -1
        self._chain = chain
        self._prepare_input_snapshot = prepare_input_snapshot
        self._writer = channel_state_writer
        self._pool = pool
        self._manager = manager
        self._task = task
        self._observer = observer
        self._aborted = AbortedCheckpoints(max_record_aborted_checkpoints)
        self._runnables: dict[int, AsyncCheckpointRunnable] = {}
        self._is_closed = False
        self._alignment_timer: Timer | None = None
        self._alignment_checkpoint = -1

    def init_inputs_checkpoint(self, checkpoint_id: int, options: CheckpointOptions) -> None:
        """Opens the channel state of the inputs (rules 12.18, 12.88). Raises CheckpointException."""
        if options.is_unaligned_checkpoint:
            self._writer.start(checkpoint_id, options)
            prepared = self._prepare_input_snapshot(self._writer, checkpoint_id)
            prepared.when_complete(lambda _, error: self._finish_input(checkpoint_id, error))
        elif options.is_timeoutable:
            self._writer.start(checkpoint_id, options)
            self._writer.finish_input(checkpoint_id)

    def checkpoint_state(
        self,
        meta_data: CheckpointMetaData,
        options: CheckpointOptions,
        metrics: CheckpointMetrics,
        *,
        is_task_finished: bool,
    ) -> None:
        """Takes a checkpoint: barrier, snapshots, asynchronous part (rules 12.5, 12.6).

        ``is_task_finished``: the operators have finished. An exception of an operator fails the task (rule 12.7).
        """
        checkpoint_id = meta_data.checkpoint_id
        if self.last_checkpoint_id >= checkpoint_id:
            self._writer.abort(checkpoint_id, CheckpointCancelled("out of order"), cleanup=True)
            self._aborted.check_and_clear(checkpoint_id)
            return
        self.last_checkpoint_id = checkpoint_id
        if self._aborted.check_and_clear(checkpoint_id):
            self._chain.broadcast_event(CancelCheckpointMarker(checkpoint_id), is_priority=False)
            self._writer.abort(checkpoint_id, CheckpointCancelled("aborted by a notification"), cleanup=True)
            return
        if options.alignment is AlignmentType.FORCED_ALIGNED:
            # Rule 12.19: the exchange before this task does not support unaligned barriers; its outputs may do so.
            options = options.with_unaligned_supported()
            self.init_inputs_checkpoint(checkpoint_id, options)
        self._chain.prepare_snapshot_pre_barrier(checkpoint_id)
        barrier = CheckpointBarrier(checkpoint_id, meta_data.timestamp_ms, options)
        self._chain.broadcast_event(barrier, is_priority=options.is_unaligned_checkpoint)
        if self._observer is not None:
            self._observer.step(checkpoint_id, CheckpointStep.BARRIER_SENT)
        self._register_alignment_timer(barrier)
        if options.needs_channel_state:
            self._writer.finish_output(checkpoint_id)
        self._take_snapshot(meta_data, options, metrics, is_task_finished)

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """Notifies the operators (rule 12.69). Raises the first error of an operator."""
        self._notify(
            checkpoint_id,
            CheckpointStep.NOTIFY_COMPLETE,
            lambda: self._chain.notify_checkpoint_complete(checkpoint_id),
            lambda: self._manager.notify_checkpoint_complete(checkpoint_id),
        )

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        """Aborts a running or future checkpoint, and notifies the operators (rule 12.69)."""
        if self._task.is_running:
            if not self._cancel_async_runnable(checkpoint_id) and checkpoint_id > self.last_checkpoint_id:
                self._aborted.add(checkpoint_id)
            self._writer.abort(checkpoint_id, CheckpointCancelled("aborted by a notification"), cleanup=False)
        self._notify(
            checkpoint_id,
            CheckpointStep.NOTIFY_ABORTED,
            lambda: self._chain.notify_checkpoint_aborted(checkpoint_id),
            lambda: self._manager.notify_checkpoint_aborted(checkpoint_id),
        )

    def notify_checkpoint_subsumed(self, checkpoint_id: int) -> None:
        """Notifies the operators that a newer checkpoint replaced this one."""
        self._notify(
            checkpoint_id,
            CheckpointStep.NOTIFY_SUBSUMED,
            lambda: self._chain.notify_checkpoint_subsumed(checkpoint_id),
            lambda: None,
        )

    def abort_checkpoint_on_barrier(self, checkpoint_id: int, cause: CheckpointException) -> None:
        """Declines a checkpoint, and sends the cancellation on (rule 12.71)."""
        self.last_checkpoint_id = max(self.last_checkpoint_id, checkpoint_id)
        self._aborted.forget_below(self.last_checkpoint_id)
        self._writer.abort(checkpoint_id, cause, cleanup=True)
        self._manager.decline_checkpoint(checkpoint_id, cause)
        if checkpoint_id == self._alignment_checkpoint:
            self._cancel_alignment_timer()
        self._chain.abort_checkpoint(checkpoint_id)
        self._chain.broadcast_event(CancelCheckpointMarker(checkpoint_id), is_priority=False)

    @property
    def has_pending_checkpoints(self) -> bool:
        """Returns True if asynchronous parts have not run; the task waits for them before it ends (rule 4.15)."""
        return bool(self._runnables)

    def close(self) -> None:
        """Discards all asynchronous parts that have not run."""
        self._cancel_alignment_timer()
        self._is_closed = True
        runnables, self._runnables = self._runnables, {}
        for runnable in runnables.values():
            runnable.close()

    def _finish_input(self, checkpoint_id: int, error: Exception | None) -> None:
        if error is None:
            self._writer.finish_input(checkpoint_id)
        else:
            self._writer.abort(checkpoint_id, error, cleanup=False)

    def _take_snapshot(
        self, meta_data: CheckpointMetaData, options: CheckpointOptions, metrics: CheckpointMetrics, is_finished: bool
    ) -> None:
        """Takes the snapshots of the operators, and enqueues the asynchronous part; an error discards all of them."""
        snapshots: dict[str, OperatorSnapshotFutures] = {}
        checkpoint_id = meta_data.checkpoint_id
        try:
            started_ns = self._task.now_ns
            stored = (
                self._writer.get_and_remove_write_result(checkpoint_id)
                if options.needs_channel_state
                else ChannelStateWriteResult.empty()
            )
            if self._observer is not None:
                self._observer.synchronous_part_starts(checkpoint_id, self._task.now_ns)
            self._chain.snapshot_state(meta_data, snapshots)
            self._manager.send_acknowledge_checkpoint_event(checkpoint_id)
            if self._observer is not None:
                self._observer.step(checkpoint_id, CheckpointStep.SYNC_END)
            metrics.sync_duration_ms = (self._task.now_ns - started_ns) // NS_PER_MS
            runnable = AsyncCheckpointRunnable(
                meta_data,
                metrics,
                snapshots,
                stored,
                self._manager,
                self._task,
                self._unregister,
                is_deployed_as_finished=self._chain.is_task_deployed_as_finished,
                is_task_finished=is_finished,
            )
            self._register(runnable)
            self._pool.execute(runnable)
        except Exception as error:
            self._writer.abort(checkpoint_id, error, cleanup=True)
            for snapshot in snapshots.values():
                snapshot.cancel()
            raise

    def _register(self, runnable: AsyncCheckpointRunnable) -> None:
        checkpoint_id = runnable.meta_data.checkpoint_id
        if self._is_closed:
            runnable.close()
        elif checkpoint_id in self._runnables:
            runnable.close()
            raise IllegalState(f"the asynchronous part of checkpoint {checkpoint_id} is registered already")
        else:
            self._runnables[checkpoint_id] = runnable

    def _unregister(self, runnable: AsyncCheckpointRunnable) -> None:
        self._runnables.pop(runnable.meta_data.checkpoint_id, None)

    def _cancel_async_runnable(self, checkpoint_id: int) -> bool:
        """Closes the asynchronous part behind the operations in the pool; returns True if it was registered."""
        runnable = self._runnables.pop(checkpoint_id, None)
        if runnable is None:
            return False
        self._pool.execute(ClosingOperation(runnable))
        return True

    def _notify(
        self,
        checkpoint_id: int,
        step: CheckpointStep,
        operators: Callable[[], None],
        local_state: Callable[[], None],
    ) -> None:
        """Notifies the operators of a running task, and in any case the local state (rule 12.69)."""
        try:
            if self._task.is_running:
                if self._observer is not None:
                    self._observer.step(checkpoint_id, step)
                operators()
        finally:
            local_state()

    def _register_alignment_timer(self, barrier: CheckpointBarrier) -> None:
        """Lets queued barriers become unaligned after their timeout (rule 12.90)."""
        self._cancel_alignment_timer()
        if not barrier.options.is_timeoutable:
            return
        age_ms = self._task.now_ns // NS_PER_MS - barrier.timestamp_ms
        delay_ms = max(0, barrier.options.aligned_timeout_ms - age_ms)
        self._alignment_timer = self._task.register_task(lambda: self._on_timeout(barrier.checkpoint_id), delay_ms)
        self._alignment_checkpoint = barrier.checkpoint_id

    def _on_timeout(self, checkpoint_id: int) -> None:
        self._chain.aligned_barrier_timeout(checkpoint_id)
        self._alignment_timer = None

    def _cancel_alignment_timer(self) -> None:
        if self._alignment_timer is not None:
            self._alignment_timer.cancel()
            self._alignment_timer = None
