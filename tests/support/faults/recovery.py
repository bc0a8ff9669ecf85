"""Faults of checkpoints: what a task stores, restores and is notified of."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TypeVar

from flowsim.checkpoints.checkpoint_coordinator import CheckpointCoordinator
from flowsim.checkpoints.checkpoint_messages import AcknowledgeCheckpoint
from flowsim.connectors.sinks.committer_operators import COMMITTER_STATE, CommitterOperator
from flowsim.graph.checkpoint_settings import CheckpointSettings
from flowsim.network.checkpointing.checkpoint_barrier_handler import CheckpointBarrierHandler
from flowsim.network.checkpointing.checkpoint_barrier_tracker import CheckpointBarrierTracker
from flowsim.network.checkpointing.checkpoint_metrics import CheckpointMetaData, CheckpointMetrics
from flowsim.network.checkpointing.checkpointable import CheckpointableTask, DelayableTimer, InputsCheckpointInitializer
from flowsim.network.checkpointing.single_checkpoint_barrier_handler import SingleCheckpointBarrierHandler
from flowsim.network.gates.single_input_gate import SingleInputGate
from flowsim.state.key_group_range import KeyGroupRange
from flowsim.state.redistribution.channel_state_handles import (
    InputChannelInfo,
    InputChannelStateHandle,
    ResultSubpartitionStateHandle,
)
from flowsim.state.redistribution.operator_state import OperatorSubtaskState, TaskStateSnapshot
from flowsim.state.snapshots.snapshot_contexts import StateInitializationContext, StateSnapshotContext
from flowsim.state.snapshots.stored_streams import (
    CheckpointStreams,
    OperatorStateStream,
    StoredStream,
    TimerStream,
)
from flowsim.streamrecord.checkpoint_exception import CheckpointException
from flowsim.streamrecord.events import CheckpointBarrier
from flowsim.task_clock import Clock
from flowsim.tasks.checkpointing.job_master_gateway import JobMasterGateway, TaskCheckpointing
from flowsim.tasks.stream_task import StreamTask
from flowsim.tasks.task_state import TaskState

Handle = TypeVar("Handle", InputChannelStateHandle, ResultSubpartitionStateHandle)


def faulty_checkpointing(
    task: StreamTask, checkpointing: TaskCheckpointing, faults: Collection[str]
) -> TaskCheckpointing:
    """Returns the checkpoints of an attempt with these faults."""
    gateway, streams, restore = checkpointing.gateway, checkpointing.streams, checkpointing.restore
    if "notified_before_completion" in faults:
        gateway = HastyGateway(gateway, task)
    if "state_lost_at_restore" in faults and restore is not None:
        restore = replace(restore, states={})
    for fault, change in (
        ("key_groups_lost_at_restore", _without_first_key_groups),
        ("operator_state_lost_at_restore", _without_operator_state),
    ):
        if fault in faults and restore is not None:
            restore = replace(restore, states={name: change(state) for name, state in restore.states.items()})
    if "restored_into_another_channel" in faults and restore is not None:
        restore = replace(restore, states={name: _exchanged(state) for name, state in restore.states.items()})
    if "acknowledged_twice" in faults:
        gateway = RepeatingGateway(gateway, task)
    for fault, times in (("channel_not_stored", 0), ("channel_stored_twice", 2)):
        if fault in faults:
            gateway = MisstoringGateway(gateway, task, times)
    create_handler = checkpointing.create_barrier_handler
    if "channels_not_blocked" in faults:
        create_handler = create_open_handler
    if "snapshot_at_first_barrier" in faults:
        create_handler = create_hasty_handler
    if "timer_lost_at_restore" in faults:
        streams = StreamsWithoutTimer(streams)
    if "source_skips_at_restore" in faults:
        streams = StreamsOfLaterPosition(streams)
    return replace(
        checkpointing, gateway=gateway, streams=streams, restore=restore, create_barrier_handler=create_handler
    )


class _Streams:
    """Streams that are read with a fault."""

    def __init__(self, streams: CheckpointStreams) -> None:
        self._streams = streams
        self._written: set[str] = set()

    def write(self, checkpoint_id: int, operator_id: str, subtask: int, stream: StoredStream) -> str:
        written = self._streams.write(checkpoint_id, operator_id, subtask, stream)
        self._written.add(written)
        return written

    def keeps(self, checkpoint_id: int) -> bool:
        return self._streams.keeps(checkpoint_id)

    def read(self, stream_id: str) -> StoredStream:
        """Returns what this attempt wrote without a change, and what it restores with one."""
        stream = self._streams.read(stream_id)
        return stream if stream_id in self._written else self._restored(stream)

    def _restored(self, stream: StoredStream) -> StoredStream:
        raise NotImplementedError


class StreamsWithoutTimer(_Streams):
    """Loses the first timer of each operator."""

    def _restored(self, stream: StoredStream) -> StoredStream:
        if not isinstance(stream, TimerStream) or not stream.timers:
            return stream
        first = min(group for group, timers in stream.timers.items() if timers)
        return TimerStream({**stream.timers, first: stream.timers[first][1:]})


class StreamsOfLaterPosition(_Streams):
    """Adds 1 to each restored position that is a number."""

    def _restored(self, stream: StoredStream) -> StoredStream:
        if not isinstance(stream, OperatorStateStream):
            return stream
        return OperatorStateStream(tuple(each + 1 if isinstance(each, int) else each for each in stream.elements))


def _without_first_key_groups(state: OperatorSubtaskState) -> OperatorSubtaskState:
    ranges = [(handle, handle.key_groups) for handle in state.managed_keyed]
    halves = [
        replace(handle, key_groups=KeyGroupRange(each.start + each.size // 2, each.end)) for handle, each in ranges
    ]
    return replace(state, managed_keyed=tuple(halves))


def _without_operator_state(state: OperatorSubtaskState) -> OperatorSubtaskState:
    return replace(state, managed_operator=(), raw_operator=())


def _exchanged(state: OperatorSubtaskState) -> OperatorSubtaskState:
    """Gives the stored data of each input channel to the next one of them."""
    handles = state.input_channels
    infos = [handle.info for handle in (*handles[1:], *handles[:1])]
    return replace(
        state, input_channels=tuple(replace(each, info=info) for each, info in zip(handles, infos, strict=True))
    )


class OpenGate:
    """A gate whose channels are not blocked by barriers."""

    __slots__ = ("_gate", "_open")

    def __init__(self, gate: SingleInputGate) -> None:
        self._gate = gate
        self._open: set[InputChannelInfo] = set()

    def block_consumption(self, channel: InputChannelInfo) -> None:
        self._gate.resume_consumption(channel)
        self._open.add(channel)

    def resume_consumption(self, channel: InputChannelInfo) -> None:
        if channel in self._open:
            self._open.remove(channel)
        else:
            self._gate.resume_consumption(channel)

    def checkpoint_started(self, barrier: CheckpointBarrier) -> None:
        self._gate.checkpoint_started(barrier)

    def checkpoint_stopped(self, checkpoint_id: int) -> None:
        self._gate.checkpoint_stopped(checkpoint_id)

    def convert_to_priority_event(self, channel: int, sequence_number: int) -> None:
        self._gate.convert_to_priority_event(channel, sequence_number)


def create_open_handler(
    settings: CheckpointSettings,
    gates: Sequence[SingleInputGate],
    task: CheckpointableTask,
    coordinator: InputsCheckpointInitializer,
    clock: Clock,
    timers: DelayableTimer,
) -> CheckpointBarrierHandler:
    """Returns a handler for mode exactly-once that receives what follows a barrier before the other barriers."""
    channels = sum(gate.count for gate in gates)
    inputs = [OpenGate(gate) for gate in gates]
    after_tasks_finish = settings.after_tasks_finish
    return SingleCheckpointBarrierHandler.aligned(
        task, clock, channels, timers, inputs, checkpoints_after_tasks_finish=after_tasks_finish
    )


class HastyBarrierTracker(CheckpointBarrierTracker):
    """Triggers a checkpoint at its first barrier, and ignores the others."""

    def process_barrier(self, barrier: CheckpointBarrier, channel: InputChannelInfo, *, is_rpc_triggered: bool) -> None:
        if barrier.checkpoint_id > self._latest_pending_id:
            self._latest_pending_id = barrier.checkpoint_id
            self._mark_alignment_start_and_end(barrier)
            self._notify_checkpoint(barrier)


def create_hasty_handler(
    settings: CheckpointSettings,
    gates: Sequence[SingleInputGate],
    task: CheckpointableTask,
    coordinator: InputsCheckpointInitializer,
    clock: Clock,
    timers: DelayableTimer,
) -> CheckpointBarrierHandler:
    """Returns a handler for mode at-least-once that does not wait for all barriers."""
    return HastyBarrierTracker(sum(gate.count for gate in gates), task, clock, settings.after_tasks_finish)


class HastyCoordinator(CheckpointCoordinator):
    """Completes a checkpoint with the first acknowledgement of a task."""

    def receive_acknowledge_message(self, message: AcknowledgeCheckpoint) -> bool:
        checkpoint = self._pending.get(message.checkpoint_id)
        if checkpoint is not None:
            checkpoint._not_yet_acknowledged_tasks = {
                attempt: vertex
                for attempt, vertex in checkpoint._not_yet_acknowledged_tasks.items()
                if attempt == message.attempt_id
            }
        return super().receive_acknowledge_message(message)


class HastyCommitterOperator(CommitterOperator):
    """Commits what a checkpoint contains when it takes its snapshot."""

    __slots__ = ()

    def snapshot_state(self, context: StateSnapshotContext) -> None:
        self.notify_checkpoint_complete(context.checkpoint_id)
        super().snapshot_state(context)


class ForgetfulCommitterOperator(CommitterOperator):
    """Drops the committables of a restored state."""

    __slots__ = ()

    def initialize_state(self, context: StateInitializationContext) -> None:
        context.operator_state.get_list_state(COMMITTER_STATE).update([])
        super().initialize_state(context)


class _Gateway:
    """The job's side of a task."""

    def __init__(self, gateway: JobMasterGateway, task: StreamTask) -> None:
        self._gateway = gateway
        self._task = task

    def report_task_state_snapshots(
        self, meta_data: CheckpointMetaData, metrics: CheckpointMetrics, snapshot: TaskStateSnapshot
    ) -> None:
        self._gateway.report_task_state_snapshots(meta_data, metrics, snapshot)

    def report_incomplete_task_state_snapshots(self, meta_data: CheckpointMetaData, metrics: CheckpointMetrics) -> None:
        self._gateway.report_incomplete_task_state_snapshots(meta_data, metrics)

    def decline_checkpoint(self, checkpoint_id: int, cause: CheckpointException) -> None:
        self._gateway.decline_checkpoint(checkpoint_id, cause)

    def notify_end_of_data(self) -> None:
        self._gateway.notify_end_of_data()

    def update_task_execution_state(self, state: TaskState) -> None:
        self._gateway.update_task_execution_state(state)

    def send_acknowledge_checkpoint_event(self, checkpoint_id: int) -> None:
        self._gateway.send_acknowledge_checkpoint_event(checkpoint_id)


class HastyGateway(_Gateway):
    """Notifies the task of the completion of a checkpoint when the task acknowledges it."""

    def report_task_state_snapshots(
        self, meta_data: CheckpointMetaData, metrics: CheckpointMetrics, snapshot: TaskStateSnapshot
    ) -> None:
        super().report_task_state_snapshots(meta_data, metrics, snapshot)
        if self._task.checkpoints is not None:
            self._task.checkpoints.notify_checkpoint_complete(meta_data.checkpoint_id)


class RepeatingGateway(_Gateway):
    """Lets the task acknowledge each checkpoint twice."""

    def __init__(self, gateway: JobMasterGateway, task: StreamTask) -> None:
        super().__init__(gateway, task)
        self._latest = -1

    def report_task_state_snapshots(
        self, meta_data: CheckpointMetaData, metrics: CheckpointMetrics, snapshot: TaskStateSnapshot
    ) -> None:
        super().report_task_state_snapshots(meta_data, metrics, snapshot)
        if self._task.checkpoints is not None and meta_data.checkpoint_id > self._latest:
            self._latest = meta_data.checkpoint_id
            self._task.checkpoints.gateway.report_task_state_snapshots(meta_data, metrics, snapshot)


class MisstoringGateway(_Gateway):
    """Reports the stored buffers of one channel as often as given."""

    def __init__(self, gateway: JobMasterGateway, task: StreamTask, times: int) -> None:
        super().__init__(gateway, task)
        self._times = times

    def report_task_state_snapshots(
        self, meta_data: CheckpointMetaData, metrics: CheckpointMetrics, snapshot: TaskStateSnapshot
    ) -> None:
        super().report_task_state_snapshots(meta_data, metrics, self._changed(snapshot))

    def _changed(self, snapshot: TaskStateSnapshot) -> TaskStateSnapshot:
        states = dict(snapshot.subtask_states)
        for name, state in states.items():
            if state.input_channels:
                states[name] = replace(state, input_channels=self._repeated(state.input_channels))
                break
            if state.result_subpartitions:
                states[name] = replace(state, result_subpartitions=self._repeated(state.result_subpartitions))
                break
        return replace(snapshot, subtask_states=states)

    def _repeated(self, handles: tuple[Handle, ...]) -> tuple[Handle, ...]:
        first = handles[0]
        repeated = replace(first, offsets=first.offsets * self._times, size_bytes=first.size_bytes * self._times)
        return ((repeated,) if self._times else ()) + handles[1:]
