"""The checkpoints of a task from its start to its end. Flink: StreamTask."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from contextlib import suppress
from typing import Protocol

from flowsim.errors import FlowsimError, InvariantViolation
from flowsim.facts.tracer import TaskTrace
from flowsim.mailbox.mail import MAX_PRIORITY, MailOptions
from flowsim.mailbox.mailbox_executor import MailboxExecutor
from flowsim.mailbox.task_mailbox import MailboxClosedException
from flowsim.network.channel_state_writer import NO_OP, ChannelStateWriter
from flowsim.network.checkpointing.checkpoint_barrier_handler import CheckpointBarrierHandler
from flowsim.network.checkpointing.checkpoint_metrics import Alignment, CheckpointMetaData, CheckpointMetrics
from flowsim.network.completion import Completion
from flowsim.network.gates.single_input_gate import SingleInputGate
from flowsim.network.outbox import Outbox
from flowsim.network.writers.record_writer import RecordWriter
from flowsim.sim.scheduler import Scheduler, Timer
from flowsim.state.redistribution.channel_state_handles import InputChannelInfo
from flowsim.streamrecord.checkpoint_exception import CheckpointException, CheckpointFailureReason
from flowsim.streamrecord.checkpoint_options import CheckpointOptions
from flowsim.streamrecord.events import CancelCheckpointMarker, CheckpointBarrier
from flowsim.task_clock import TaskClock
from flowsim.tasks.checkpointing.async_checkpoint_runnable import AsyncOperations
from flowsim.tasks.checkpointing.channel_state_reader import ChannelRecovery
from flowsim.tasks.checkpointing.channel_state_writer import StoredChannels, TaskChannelStateWriter
from flowsim.tasks.checkpointing.checkpoint_observer import CheckpointObserver
from flowsim.tasks.checkpointing.job_master_gateway import TaskCheckpointing
from flowsim.tasks.checkpointing.rpc_checkpoint_responder import RpcCheckpointResponder
from flowsim.tasks.checkpointing.subtask_checkpoint_coordinator import SubtaskCheckpointCoordinator
from flowsim.tasks.inputs.multiple_input_processor import network_inputs
from flowsim.tasks.inputs.task_input import TaskInput
from flowsim.tasks.operator_chain import OperatorChain
from flowsim.tasks.processing_time import TaskTimers
from flowsim.units import NS_PER_MS


class CheckpointFailed(FlowsimError):
    """A checkpoint failed in the task, which fails with it (rule 12.7); the cause is the error."""


class StopWithSavepointFailed(FlowsimError):
    """The savepoint of a stop was aborted, so the task fails (rules 12.71, 12.94)."""


class TaskWithCheckpoints(Protocol):
    """What the checkpoints need of their task. Flink: StreamTask.

    A Protocol, because StreamTask imports this module: in Flink both are one class.
    """

    name: str
    scheduler: Scheduler
    timers: TaskTimers
    clock: TaskClock
    outbox: Outbox
    chain: OperatorChain
    input: TaskInput
    writers: Sequence[RecordWriter]
    trace: TaskTrace | None

    @property
    def is_running(self) -> bool:
        """True from the end of the restore until the mailbox is drained (rules 4.17, 12.70)."""

    @property
    def is_inside(self) -> bool:
        """True while the task itself runs, so that its clock is the time."""

    @property
    def operators_inside_element(self) -> Set[int]:
        """The operators that are inside an element, by index; only those of a legacy design can be."""

    def mailbox_executor(self, priority: int) -> MailboxExecutor: ...

    def wake(self) -> None:
        """Lets the task look again at what it waits for."""


class TaskCheckpoints:
    """Triggers, performs, aborts and confirms checkpoints; decides when a task may end. Flink: StreamTask."""

    def __init__(
        self, task: TaskWithCheckpoints, checkpointing: TaskCheckpointing, gates: Sequence[Sequence[SingleInputGate]]
    ) -> None:
        """``gates``: the gates of each input; none for a source."""
        settings, trace = checkpointing.settings, task.trace
        self._task = task
        self._restore = checkpointing.restore
        self.checkpoints_after_tasks_finish = settings.waits_for_final_checkpoint
        """True if the task ends only after a final checkpoint, and when its asynchronous parts have run (rule 4.17)."""
        self.synchronous_savepoint_id: int | None = None
        self.final_checkpoint_min_id: int | None = None
        """The first checkpoint after the end of data; None before it (rule 4.16)."""
        self.final_checkpoint_completed: Completion[None] = Completion()
        self._latest_reported_id = -1 if self._restore is None else self._restore.checkpoint_id
        self._end_of_data_received = False
        self._main_mails = task.mailbox_executor(-1)
        self._notification_mails = task.mailbox_executor(MAX_PRIORITY)
        """These mails run before all others, also inside a yield (rule 12.69)."""
        self._observer: CheckpointObserver | None = None
        """None: the run records nothing."""
        if trace is not None:
            self._observer = CheckpointObserver(
                trace, task.chain.wrappers, checkpointing.streams, lambda: task.operators_inside_element
            )
        self.gateway = RpcCheckpointResponder(checkpointing.gateway, task.outbox, self._observer)
        task.chain.enable_checkpoints(checkpointing)
        inputs = network_inputs(task.input)
        self._gates = [(each, gate) for each, of_input in zip(inputs, gates, strict=True) for gate in of_input]
        """The gates in the order of the inputs, each with its input."""
        writer = self._channel_state_writer(checkpointing) if settings.unaligned else NO_OP
        self._pool = AsyncOperations(task.scheduler, task.timers.actor_id, lambda: self.now_ns, settings, task.wake)
        self.coordinator = SubtaskCheckpointCoordinator(
            task.chain,
            self._prepare_input_snapshot,
            writer,
            self._pool,
            self.gateway,
            self,
            settings.max_concurrent,
            self._observer,
        )
        self.handler: CheckpointBarrierHandler | None = None
        """None for a source."""
        if self._gates:
            self.handler = checkpointing.create_barrier_handler(
                settings, [gate for _, gate in self._gates], self, self.coordinator, self, self
            )
            first = 0
            for each, of_input in zip(inputs, gates, strict=True):
                each.gate.handle_events_by(self.handler, of_input, first, self._observer)
                first += len(of_input)
                if settings.unaligned:
                    each.gate.poll_priority_events_by(self._main_mails)
        self.recovery: ChannelRecovery | None = None
        """None: the job has no in-flight data to restore."""
        if checkpointing.recovers_channel_state:
            self.recovery = ChannelRecovery(inputs, gates, task.writers, self._main_mails, checkpointing)

    def _channel_state_writer(self, checkpointing: TaskCheckpointing) -> ChannelStateWriter:
        """Returns the writer of the task's in-flight data, which its gates and partitions use."""
        operators = [wrapper.operator.ctx for wrapper in self._task.chain.wrappers]
        head, tail = operators[0], operators[-1]
        writer = TaskChannelStateWriter(
            StoredChannels(checkpointing.streams, head.subtask_index, head.operator_id, tail.operator_id)
        )
        for number, (_, gate) in enumerate(self._gates):
            gate.set_channel_state_writer(writer, number)
        for number, output in enumerate(self._task.writers):
            output.partition.set_channel_state_writer(writer, number)
        return writer

    # What the barrier handler and the coordinator need of the task.

    @property
    def is_running(self) -> bool:
        """True from the end of the restore until the mailbox is drained (rules 12.69, 12.70)."""
        return self._task.is_running

    @property
    def now_ns(self) -> int:
        """The task's clock inside the task, and the time of the job outside of it."""
        return self._task.clock.now_ns if self._task.is_inside else self._task.scheduler.now_ns

    def register_task(self, callback: Callable[[], None], delay_ms: int) -> Timer:
        """Runs ``callback`` as a mail of the task 1 ms after the delay (rule 9.10), unless the task is ending then.

        Flink: BarrierAlignmentUtil.createRegisterTimerCallback.
        """

        def fire() -> None:
            # Flink quiesces these timers before the mailbox.
            with suppress(MailboxClosedException):
                self._main_mails.execute(callback, "timer of a checkpoint")

        due_ns = self._task.clock.now_ns + (delay_ms + 1) * NS_PER_MS
        return self._task.scheduler.call_at_ns(due_ns, fire, origin=self._task.timers.system_thread)

    def _prepare_input_snapshot(self, writer: ChannelStateWriter, checkpoint_id: int) -> Completion[None]:
        """Stores the bytes that were read and not processed; completes with the last barrier (rule 12.83).

        Raises CheckpointException while restored data of several old channels is decoded (rule 12.93).
        """
        if any(each.is_demultiplexing for each, _ in self._gates):
            raise CheckpointException(CheckpointFailureReason.CHECKPOINT_DECLINED_TASK_NOT_READY)
        for number, (each, gate) in enumerate(self._gates):
            for index, channel in enumerate(gate.known_channels):
                if channel is not None:
                    unconsumed = each.unconsumed(channel)
                    if unconsumed:
                        writer.add_input_data(checkpoint_id, InputChannelInfo(number, index), (unconsumed,))
        return Completion.completed() if self.handler is None else self.handler.all_barriers_received(checkpoint_id)

    # Calls of the coordinator of the job.

    def trigger_checkpoint(self, meta_data: CheckpointMetaData, options: CheckpointOptions) -> None:
        """Enqueues a trigger, which is urgent for an unaligned checkpoint (rule 12.72).

        Raises MailboxClosedException if the task ends.
        """
        if self._observer is not None:
            self._observer.triggered(meta_data.checkpoint_id, self._task.scheduler.now_ns)
        mail = MailOptions.URGENT if options.is_unaligned_checkpoint else MailOptions.DEFAULT
        self._main_mails.execute(
            lambda: self._trigger_in_mailbox(meta_data, options), f"checkpoint {meta_data.checkpoint_id}", mail
        )

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """Enqueues the notification that a checkpoint is complete."""
        self._notify(lambda: self._complete(checkpoint_id), f"checkpoint {checkpoint_id} complete")

    def notify_checkpoint_aborted(self, checkpoint_id: int, latest_completed_id: int) -> None:
        """Enqueues the notification of an abort; ``latest_completed_id`` makes up for a lost one (rule 12.4)."""
        self._notify(lambda: self._abort(checkpoint_id, latest_completed_id), f"checkpoint {checkpoint_id} aborted")

    def notify_checkpoint_subsumed(self, checkpoint_id: int) -> None:
        """Enqueues the notification that a newer checkpoint replaced this one."""
        self._notify(
            lambda: self.coordinator.notify_checkpoint_subsumed(checkpoint_id), f"checkpoint {checkpoint_id} subsumed"
        )

    # Calls of the barrier handler.

    def trigger_checkpoint_on_barrier(
        self, meta_data: CheckpointMetaData, options: CheckpointOptions, metrics: CheckpointMetrics
    ) -> None:
        """Takes the checkpoint, or sends a cancellation marker if the task is not running (rule 12.70)."""
        if self._observer is not None:
            last_barrier: Completion[None] = Completion.completed()
            if options.is_unaligned_checkpoint and self.handler is not None:
                # The barriers of the other channels arrive later.
                last_barrier = self.handler.all_barriers_received(meta_data.checkpoint_id)
            self._observer.alignment_ends_with(meta_data.checkpoint_id, last_barrier)
        try:
            self._perform(meta_data, options, metrics)
        except Exception as error:
            raise self._failure(meta_data) from error

    def abort_checkpoint_on_barrier(self, checkpoint_id: int, cause: CheckpointException) -> None:
        """Declines the checkpoint. Raises StopWithSavepointFailed for the savepoint of a stop (rule 12.71)."""
        self._check_stop(checkpoint_id)
        self.coordinator.abort_checkpoint_on_barrier(checkpoint_id, cause)

    # Calls of the task.

    @property
    def has_pending_checkpoints(self) -> bool:
        """True while asynchronous parts have not run."""
        return self.coordinator.has_pending_checkpoints

    def on_restore(self) -> None:
        """Called once, before the operators are initialized."""
        if self._observer is not None:
            self._observer.on_restore(self._restore)

    def on_end_of_data(self, *, is_drained: bool) -> None:
        """Called when the operators have finished and EndOfData has left the task.

        Later acknowledgements report it (rule 12.8); the next checkpoint may be the final one (rules 4.16, 12.44).
        """
        self._end_of_data_received = True
        if is_drained:
            self.gateway.notify_end_of_data()

    def set_synchronous_savepoint(self, checkpoint_id: int) -> None:
        """Remembers the savepoint of a stop. Raises InvariantViolation for a second one."""
        if self.synchronous_savepoint_id not in (None, checkpoint_id):
            raise InvariantViolation("at most one stop-with-savepoint checkpoint at a time is allowed")
        self.synchronous_savepoint_id = checkpoint_id

    @property
    def waits_for_consumers(self) -> bool:
        """Returns True if the task may not end before its consumers have processed all records (rule 4.15)."""
        return self._end_of_data_received and self.checkpoints_after_tasks_finish

    @property
    def waits_for_final_checkpoint(self) -> bool:
        """Returns True if the task may not end before ``final_checkpoint_completed`` (rules 4.15, 12.94)."""
        is_required = self.waits_for_consumers or self.synchronous_savepoint_id is not None
        return is_required and not self.final_checkpoint_completed.is_done

    def when_may_end(self, callback: Callable[[], None]) -> None:
        """Calls back when the consumers have processed all records and the final checkpoint is complete (rule 4.15)."""
        conditions: list[Completion[None]] = []
        if self.waits_for_consumers:
            conditions += [writer.partition.all_data_processed for writer in self._task.writers]
        if self.waits_for_final_checkpoint:
            conditions.append(self.final_checkpoint_completed)
        _when_all(conditions, callback)

    def close(self) -> None:
        """Discards asynchronous parts that have not run."""
        self.coordinator.close()
        self._pool.close()

    # Inside mails.

    def _trigger_in_mailbox(self, meta_data: CheckpointMetaData, options: CheckpointOptions) -> None:
        """Takes the checkpoint now, or lets the handler treat all open channels as aligned (rules 12.14, 12.72)."""
        unfinished = [
            InputChannelInfo(number, channel)
            for number, (_, gate) in enumerate(self._gates)
            for channel in gate.unfinished_channels()
        ]
        if not unfinished:
            self._trigger_now(meta_data, options)
            return
        if self.handler is None:
            raise InvariantViolation("CheckpointBarrier should exist for tasks with network inputs.")
        barrier = CheckpointBarrier(meta_data.checkpoint_id, meta_data.timestamp_ms, options)
        for channel in unfinished:
            self.handler.process_barrier(barrier, channel, is_rpc_triggered=True)

    def _trigger_now(self, meta_data: CheckpointMetaData, options: CheckpointOptions) -> None:
        start_delay_ms = max(0, self.now_ns // NS_PER_MS - meta_data.timestamp_ms)
        metrics = CheckpointMetrics(Alignment(0, 0), start_delay_ms * NS_PER_MS)
        try:
            self.coordinator.init_inputs_checkpoint(meta_data.checkpoint_id, options)
            is_performed = self._perform(meta_data, options, metrics)
        except Exception as error:
            if self.is_running:
                raise self._failure(meta_data) from error
            return
        if not is_performed:
            reason = CheckpointFailureReason.CHECKPOINT_DECLINED_TASK_NOT_READY
            self.gateway.decline_checkpoint(
                meta_data.checkpoint_id, CheckpointException(reason, f"Task Name {self._task.name}")
            )

    def _perform(self, meta_data: CheckpointMetaData, options: CheckpointOptions, metrics: CheckpointMetrics) -> bool:
        """Takes the checkpoint; returns False if the task is not running (rule 12.70)."""
        checkpoint_id = meta_data.checkpoint_id
        if not self.is_running:
            self._task.chain.broadcast_event(CancelCheckpointMarker(checkpoint_id), is_priority=False)
            return False
        if options.snapshot_type.is_synchronous:
            self.set_synchronous_savepoint(checkpoint_id)
        is_final = self.checkpoints_after_tasks_finish and self._end_of_data_received
        if is_final and self.final_checkpoint_min_id is None:
            self.final_checkpoint_min_id = checkpoint_id
        self.coordinator.checkpoint_state(meta_data, options, metrics, is_task_finished=self._end_of_data_received)
        return True

    def _complete(self, checkpoint_id: int) -> None:
        """Notifies the operators, once and in order (rule 12.4); may let the task end (rule 4.16)."""
        if checkpoint_id <= self._latest_reported_id:
            return
        self._latest_reported_id = checkpoint_id
        self.coordinator.notify_checkpoint_complete(checkpoint_id)
        if not self.is_running:
            return
        if self.synchronous_savepoint_id is not None:
            is_final = checkpoint_id == self.synchronous_savepoint_id
        else:
            is_final = self.final_checkpoint_min_id is not None and checkpoint_id >= self.final_checkpoint_min_id
        if is_final:
            self.final_checkpoint_completed.complete(None)

    def _abort(self, checkpoint_id: int, latest_completed_id: int) -> None:
        if latest_completed_id > 0:
            self._complete(latest_completed_id)
        self._check_stop(checkpoint_id)
        self.coordinator.notify_checkpoint_aborted(checkpoint_id)

    def _check_stop(self, checkpoint_id: int) -> None:
        if checkpoint_id == self.synchronous_savepoint_id:
            raise StopWithSavepointFailed("Stop-with-savepoint failed.")

    def _notify(self, command: Callable[[], None], description: str) -> None:
        self._notification_mails.execute(command, description)

    def _failure(self, meta_data: CheckpointMetaData) -> CheckpointFailed:
        return CheckpointFailed(
            f"Could not perform checkpoint {meta_data.checkpoint_id} for operator {self._task.name}."
        )


def _when_all(conditions: Sequence[Completion[None]], callback: Callable[[], None]) -> None:
    left = len(conditions)
    if not left:
        callback()
        return

    def on_done(result: None, error: Exception | None) -> None:
        nonlocal left
        left -= 1
        if not left:
            callback()

    for condition in conditions:
        condition.when_complete(on_done)
