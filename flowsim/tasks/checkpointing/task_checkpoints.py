"""Connects the checkpoints of a task with its operators, inputs, outputs and clock. Flink: StreamTask."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from contextlib import suppress
from typing import Protocol

from flowsim.facts.kinds import CheckpointStep
from flowsim.facts.tracer import TaskTrace
from flowsim.mailbox.mail import MAX_PRIORITY
from flowsim.mailbox.mailbox_executor import MailboxExecutor
from flowsim.mailbox.task_mailbox import MailboxClosedException
from flowsim.network.checkpointing.checkpoint_barrier_handler import CheckpointBarrierHandler
from flowsim.network.checkpointing.checkpoint_metrics import CheckpointMetaData, CheckpointMetrics
from flowsim.network.checkpointing.input_gates import BarrierEventHandler
from flowsim.network.completion import Completion
from flowsim.network.gates.single_input_gate import SingleInputGate
from flowsim.network.outbox import Outbox
from flowsim.network.writers.record_writer import RecordWriter
from flowsim.sim.scheduler import Scheduler, Timer
from flowsim.state.redistribution.channel_state_handles import InputChannelInfo
from flowsim.state.redistribution.operator_state import TaskStateSnapshot
from flowsim.streamrecord.checkpoint_exception import CheckpointException, CheckpointFailureReason
from flowsim.streamrecord.checkpoint_options import CheckpointOptions
from flowsim.streamrecord.events import CheckpointBarrier, Event
from flowsim.task_clock import TaskClock
from flowsim.tasks.checkpointing.async_operations import AsyncOperations
from flowsim.tasks.checkpointing.channel_recovery import ChannelRecovery
from flowsim.tasks.checkpointing.channel_state_writer import (
    NO_CHANNEL_STATE,
    ChannelStateWriter,
    PartitionChannelState,
    StoredChannels,
    TaskChannelStateWriter,
)
from flowsim.tasks.checkpointing.job_master_gateway import JobMasterGateway, TaskCheckpointing
from flowsim.tasks.checkpointing.operator_chain_checkpoints import OperatorChainCheckpoints
from flowsim.tasks.checkpointing.operator_checkpoints import FailingCheckpoints, OperatorCheckpoints
from flowsim.tasks.checkpointing.recorded_checkpoints import (
    RecordedAlignment,
    RecordedBarriers,
    RecordedChainCheckpoints,
    RecordedReports,
)
from flowsim.tasks.checkpointing.stream_task_checkpoints import StreamTaskCheckpoints
from flowsim.tasks.checkpointing.subtask_checkpoint_coordinator import SubtaskCheckpointCoordinator
from flowsim.tasks.inputs.multiple_input_processor import network_inputs
from flowsim.tasks.inputs.network_input import StreamTaskNetworkInput
from flowsim.tasks.inputs.task_input import TaskInput
from flowsim.tasks.operator_chain import OperatorChain
from flowsim.tasks.processing_time import TaskTimers
from flowsim.tasks.task_state import TaskState
from flowsim.units import NS_PER_MS


class TaskWithCheckpoints(Protocol):
    """What the checkpoints need of their task. Flink: StreamTask."""

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


class CheckpointClock:
    """The task's clock inside the task, and the time of the job outside of it."""

    __slots__ = ("_task",)

    def __init__(self, task: TaskWithCheckpoints) -> None:
        self._task = task

    @property
    def now_ns(self) -> int:
        return self._task.clock.now_ns if self._task.is_inside else self._task.scheduler.now_ns


class TaskOutputs:
    """All writers of a task. Flink: RecordWriterOutput."""

    __slots__ = ("_task",)

    def __init__(self, task: TaskWithCheckpoints) -> None:
        self._task = task

    def broadcast_event(self, event: Event, *, is_priority: bool) -> None:
        """Sends an event to all subpartitions of all outputs."""
        for writer in self._task.writers:
            writer.broadcast_event(event, is_priority)
        if self._task.trace is not None and isinstance(event, CheckpointBarrier):
            self._task.trace.checkpoints.step(event.checkpoint_id, CheckpointStep.BARRIER_SENT)

    def aligned_barrier_timeout(self, checkpoint_id: int) -> None:
        """Lets queued barriers overtake the data before them."""
        for writer in self._task.writers:
            writer.partition.aligned_barrier_timeout(checkpoint_id)

    def abort_checkpoint(self, checkpoint_id: int, cause: CheckpointException) -> None:
        """Stores no more output for the checkpoint."""
        for writer in self._task.writers:
            writer.partition.abort_checkpoint(checkpoint_id)


class TaskInputGates:
    """The gates of a task, in the order of its inputs."""

    __slots__ = ("_gates", "_inputs", "handler")

    def __init__(self, gates: Sequence[Sequence[SingleInputGate]], inputs: Sequence[StreamTaskNetworkInput]) -> None:
        """``gates``: those of each of ``inputs``."""
        self._gates = [gate for of_input in gates for gate in of_input]
        self._inputs = [each for each, of_input in zip(inputs, gates, strict=True) for _ in of_input]
        """The input of each gate."""
        self.handler: CheckpointBarrierHandler | None = None

    def unfinished_channels(self) -> list[InputChannelInfo]:
        """Returns the channels that have not ended."""
        return [
            InputChannelInfo(number, channel)
            for number, gate in enumerate(self._gates)
            for channel in gate.unfinished_channels()
        ]

    def prepare_snapshot(self, writer: ChannelStateWriter, checkpoint_id: int) -> Completion[None]:
        """Stores the bytes that were read and not processed; completes with the last barrier (rule 12.83).

        Raises CheckpointException while restored data of several old channels is decoded (rule 12.93).
        """
        if any(each.is_demultiplexing for each in self._inputs):
            raise CheckpointException(CheckpointFailureReason.CHECKPOINT_DECLINED_TASK_NOT_READY)
        for number, (gate, of_gate) in enumerate(zip(self._gates, self._inputs, strict=True)):
            for index, channel in enumerate(gate.known_channels):
                if channel is not None:
                    unconsumed = of_gate.unconsumed(channel)
                    if unconsumed:
                        writer.add_input_data(checkpoint_id, InputChannelInfo(number, index), (unconsumed,))
        return Completion.completed() if self.handler is None else self.handler.all_barriers_received(checkpoint_id)


class MailTimers:
    """Registers callbacks of the task's checkpoints as mails. Flink: BarrierAlignmentUtil.createRegisterTimerCallback."""

    __slots__ = ("_task", "_executor")

    def __init__(self, task: TaskWithCheckpoints, executor: MailboxExecutor) -> None:
        self._task = task
        self._executor = executor

    def register_task(self, callback: Callable[[], None], delay_ms: int) -> Timer:
        """Runs ``callback`` as a mail of the task after the delay, unless the task is ending then."""

        def fire() -> None:
            # Flink quiesces these timers before the mailbox.
            with suppress(MailboxClosedException):
                self._executor.execute(callback, "timer of a checkpoint")

        due_ns = self._task.clock.now_ns + delay_ms * NS_PER_MS
        return self._task.scheduler.call_at_ns(due_ns, fire, origin=self._task.timers.system_thread)


class PublishedGateway:
    """Lets the calls of a running task leave with its batch (decision D4). Flink: RpcCheckpointResponder."""

    __slots__ = ("_gateway", "_outbox", "_recorded")

    def __init__(self, gateway: JobMasterGateway, outbox: Outbox, recorded: RecordedReports | None) -> None:
        self._gateway = gateway
        self._outbox = outbox
        self._recorded = recorded

    def report_task_state_snapshots(
        self, meta_data: CheckpointMetaData, metrics: CheckpointMetrics, snapshot: TaskStateSnapshot
    ) -> None:
        if self._recorded is not None:
            snapshot = self._recorded.on_acknowledge(meta_data, metrics, snapshot)
        self._send(lambda: self._gateway.report_task_state_snapshots(meta_data, metrics, snapshot))

    def report_incomplete_task_state_snapshots(self, meta_data: CheckpointMetaData, metrics: CheckpointMetrics) -> None:
        self._send(lambda: self._gateway.report_incomplete_task_state_snapshots(meta_data, metrics))

    def decline_checkpoint(self, checkpoint_id: int, cause: CheckpointException) -> None:
        if self._recorded is not None:
            self._recorded.on_decline(checkpoint_id, cause)
        self._send(lambda: self._gateway.decline_checkpoint(checkpoint_id, cause))

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """Does nothing: there is no local state."""

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        """Does nothing: there is no local state."""

    def send_acknowledge_checkpoint_event(self, checkpoint_id: int) -> None:
        self._send(lambda: self._gateway.send_acknowledge_checkpoint_event(checkpoint_id))

    def notify_end_of_data(self) -> None:
        self._send(self._gateway.notify_end_of_data)

    def update_task_execution_state(self, state: TaskState) -> None:
        self._send(lambda: self._gateway.update_task_execution_state(state))

    def _send(self, report: Callable[[], None]) -> None:
        if self._outbox.sealed:
            self._outbox.hold_report(report)
        else:
            report()


class TaskCheckpoints:
    """All that a task with checkpoints has beyond one without. Flink: StreamTask."""

    def __init__(
        self, task: TaskWithCheckpoints, checkpointing: TaskCheckpointing, gates: Sequence[Sequence[SingleInputGate]]
    ) -> None:
        """``gates``: the gates of each input; none for a source."""
        settings = checkpointing.settings
        self.completes_pending_checkpoints = settings.waits_for_final_checkpoint
        """True if the task ends only when its asynchronous parts have run (rule 4.17)."""
        self._task = task
        self._restore = checkpointing.restore
        self._streams = checkpointing.streams
        trace = task.trace
        self._recorded = None if trace is None else RecordedReports(trace, task.chain.wrappers, checkpointing.streams)
        self.gateway = PublishedGateway(checkpointing.gateway, task.outbox, self._recorded)
        self._operators = _operators(task, checkpointing)
        self._requested_ns: dict[int, int] = {}
        restore, clock, outputs = checkpointing.restore, CheckpointClock(task), TaskOutputs(task)
        chain = (OperatorChainCheckpoints if trace is None else RecordedChainCheckpoints)(
            self._operators,
            outputs,
            self.gateway,
            is_task_deployed_as_finished=checkpointing.is_restored_as_finished,
        )
        if isinstance(chain, RecordedChainCheckpoints) and trace is not None:
            chain.task, chain.trace, chain.requested_ns = task, trace, self._requested_ns
        mails = task.mailbox_executor(-1)
        timers = MailTimers(task, mails)
        all_gates = [gate for of_input in gates for gate in of_input]
        inputs = TaskInputGates(gates, network_inputs(task.input))
        writer = self._channel_state_writer(all_gates) if settings.unaligned else NO_CHANNEL_STATE
        self._pool = AsyncOperations(task.scheduler, lambda: clock.now_ns, settings, task.wake)
        self.coordinator = SubtaskCheckpointCoordinator(
            chain, inputs, writer, self._pool, self.gateway, task, timers, clock, settings.max_concurrent
        )
        self.stream_task = StreamTaskCheckpoints(
            task.name,
            self.coordinator,
            outputs,
            inputs,
            self.gateway,
            task,
            mails,
            task.mailbox_executor(MAX_PRIORITY),
            clock,
            restored_checkpoint_id=-1 if restore is None else restore.checkpoint_id,
            checkpoints_after_tasks_finish=settings.waits_for_final_checkpoint,
        )
        self._alignment = None if trace is None else RecordedAlignment(self.stream_task, trace)
        if all_gates:
            self.stream_task.handler = checkpointing.create_barrier_handler(
                settings, all_gates, self._alignment or self.stream_task, self.coordinator, clock, timers
            )
            inputs.handler = self.stream_task.handler
            if self._alignment is not None:
                self._alignment.handler = self.stream_task.handler
            self._handle_events(self.stream_task.handler, gates, unaligned=settings.unaligned)
        self.recovery = ChannelRecovery(task, gates, checkpointing) if checkpointing.recovers_channel_state else None
        """None: the job has no in-flight data to restore."""

    def _channel_state_writer(self, gates: Sequence[SingleInputGate]) -> ChannelStateWriter:
        """Returns the writer of the task's in-flight data, which its gates and partitions use."""
        ids = [wrapper.operator.ctx.operator_id for wrapper in self._task.chain.wrappers]
        subtask = self._task.chain.wrappers[0].operator.ctx.subtask_index
        writer = TaskChannelStateWriter(StoredChannels(self._streams, subtask, ids[0], ids[-1]))
        for number, gate in enumerate(gates):
            gate.set_channel_state_writer(writer, number)
        for number, output in enumerate(self._task.writers):
            output.partition.set_channel_state_writer(PartitionChannelState(writer, number))
        return writer

    def _handle_events(
        self, handler: CheckpointBarrierHandler, gates: Sequence[Sequence[SingleInputGate]], *, unaligned: bool
    ) -> None:
        """Lets all inputs pass their events to the task's barrier handler (rules 12.78, 12.91)."""
        first = 0
        for each, of_input in zip(network_inputs(self._task.input), gates, strict=True):
            events = BarrierEventHandler(handler, of_input, first)
            each.gate.handler = events if self._alignment is None else RecordedBarriers(events, self._alignment)
            if unaligned:
                each.gate.poll_priority_events_by(self._task.mailbox_executor(-1))
            first += len(of_input)

    def on_restore(self) -> None:
        """Called once, before the operators are initialized."""
        if self._recorded is not None:
            self._recorded.on_restore(self._restore)

    def initialize_state(self, place: int) -> None:
        """Restores the state of the operator at this place of the chain."""
        self._operators[place].initialize_state(self._restore)

    def trigger_checkpoint(self, meta_data: CheckpointMetaData, options: CheckpointOptions) -> None:
        """Enqueues the trigger of the coordinator. Raises MailboxClosedException if the task ends."""
        if self._task.trace is not None:
            self._task.trace.checkpoints.step(meta_data.checkpoint_id, CheckpointStep.TRIGGER)
            self._requested_ns[meta_data.checkpoint_id] = self._task.scheduler.now_ns
        self.stream_task.trigger_checkpoint(meta_data, options)

    def on_end_of_data(self, *, is_drained: bool) -> None:
        """Called when EndOfData has left the task (rules 4.15, 12.44)."""
        self.stream_task.on_operators_finished()
        self.stream_task.on_end_of_data()
        if is_drained:
            self.gateway.notify_end_of_data()

    def when_may_end(self, callback: Callable[[], None]) -> None:
        """Calls back when the consumers have processed all records and the final checkpoint is complete (rule 4.15)."""
        conditions: list[Completion[None]] = []
        if self.stream_task.waits_for_consumers:
            conditions += [writer.partition.all_data_processed for writer in self._task.writers]
        if self.stream_task.waits_for_final_checkpoint:
            conditions.append(self.stream_task.final_checkpoint_completed)
        _when_all(conditions, callback)

    @property
    def has_pending_checkpoints(self) -> bool:
        """True while asynchronous parts have not run."""
        return self.coordinator.has_pending_checkpoints

    def close(self) -> None:
        """Discards asynchronous parts that have not run."""
        self.coordinator.close()
        self._pool.close()


def _operators(task: TaskWithCheckpoints, checkpointing: TaskCheckpointing) -> list[OperatorCheckpoints]:
    """Returns the checkpoints of each operator of the chain, head first."""
    streams, latency_ns = checkpointing.streams, checkpointing.settings.sync_latency_ns
    wrappers, failures = task.chain.wrappers, checkpointing.failures
    operators = [OperatorCheckpoints(wrapper, streams, latency_ns) for wrapper in wrappers]
    if failures is not None:
        operators[0] = FailingCheckpoints(wrappers[0], streams, latency_ns, failures)
    return operators


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
