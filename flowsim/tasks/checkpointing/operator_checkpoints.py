"""Restores and stores the state of one operator of a task. Flink: StreamOperatorStateHandler, OperatorSnapshotFutures."""

from __future__ import annotations

from flowsim.failure_location import OperatorCall
from flowsim.operators.checkpointed_function import initialize_function, snapshot_function
from flowsim.operators.observed_function_states import function_states
from flowsim.state.redistribution.operator_state import KeyGroupsStateHandle, OperatorSubtaskState
from flowsim.state.redistribution.operator_state_handle import OperatorStateHandle, StateMetaInfo
from flowsim.state.snapshots.operator_state_backend import OperatorStateBackend
from flowsim.state.snapshots.restored_keyed_state import RestoredKeyGroups
from flowsim.state.snapshots.snapshot_contexts import StateInitializationContext, StateSnapshotContext
from flowsim.state.snapshots.stored_streams import (
    CheckpointStreams,
    KeyedStateStream,
    OperatorStateStream,
    TimerStream,
)
from flowsim.streamrecord.checkpoint_options import CheckpointOptions
from flowsim.tasks.checkpointing.job_master_gateway import CheckpointFailures, TaskRestore
from flowsim.tasks.checkpointing.state_size import size_of_stream
from flowsim.tasks.operator_chain import OperatorWrapper


class OperatorSnapshot:
    """Consistent copies of an operator's states, which ``finalize`` writes. Flink: OperatorSnapshotFutures."""

    __slots__ = ("_write", "_operator_state", "_keyed_state", "_timers", "_wrapper")

    def __init__(
        self,
        wrapper: OperatorWrapper,
        write: _Write,
        operator_state: tuple[OperatorStateStream, dict[str, StateMetaInfo]] | None,
        keyed_state: KeyedStateStream | None,
        timers: TimerStream | None,
    ) -> None:
        self._wrapper = wrapper
        self._write = write
        self._operator_state = operator_state
        self._keyed_state = keyed_state
        self._timers = timers

    @property
    def size_bytes(self) -> int:
        """The size of all copied values (rule 12.142)."""
        streams = (None if self._operator_state is None else self._operator_state[0], self._keyed_state, self._timers)
        return sum(size_of_stream(stream) for stream in streams if stream is not None)

    def finalize(self) -> OperatorSubtaskState:
        """Writes the state; runs in the asynchronous part of the checkpoint."""
        write, key_groups = self._write, self._wrapper.operator.ctx.key_group_range
        managed_operator: tuple[OperatorStateHandle, ...] = ()
        if self._operator_state is not None:
            stream, infos = self._operator_state
            managed_operator = (OperatorStateHandle(write(stream), infos),)
        keyed, timers = self._keyed_state, self._timers
        return OperatorSubtaskState(
            managed_operator,
            (),
            () if keyed is None else (KeyGroupsStateHandle(write(keyed), key_groups),),
            () if timers is None else (KeyGroupsStateHandle(write(timers), key_groups),),
        )

    def cancel(self) -> None:
        """Discards the copies."""
        self._operator_state = self._keyed_state = self._timers = None


class _Write:
    """Writes the streams of one operator for one checkpoint."""

    __slots__ = ("_streams", "_checkpoint_id", "_operator_id", "_subtask")

    def __init__(self, streams: CheckpointStreams, checkpoint_id: int, operator_id: str, subtask: int) -> None:
        self._streams = streams
        self._checkpoint_id = checkpoint_id
        self._operator_id = operator_id
        self._subtask = subtask

    def __call__(self, stream: OperatorStateStream | KeyedStateStream | TimerStream) -> str:
        return self._streams.write(self._checkpoint_id, self._operator_id, self._subtask, stream)


class OperatorCheckpoints:
    """The checkpoints of one operator subtask. Flink: StreamOperatorStateHandler."""

    __slots__ = ("operator_id", "_wrapper", "_streams", "_operator_state", "_sync_latency_ns")

    def __init__(self, wrapper: OperatorWrapper, streams: CheckpointStreams, sync_latency_ns: int) -> None:
        self.operator_id = wrapper.operator.ctx.operator_id
        self._wrapper = wrapper
        self._streams = streams
        self._sync_latency_ns = sync_latency_ns
        self._operator_state = OperatorStateBackend(wrapper.name)

    @property
    def is_closed(self) -> bool:
        return not self._wrapper.is_open

    def initialize_state(self, restore: TaskRestore | None) -> None:
        """Gives the operator its restored state; called before it is opened (rule 12.92)."""
        operator = self._wrapper.operator
        if restore is None:
            self._initialize(StateInitializationContext(self._operator_state))
            return
        state = restore.states.get(self.operator_id)
        keyed: RestoredKeyGroups | None = None
        if state is not None:
            read = self._streams.read
            self._operator_state.restore(state.managed_operator, read)
            if state.managed_keyed or state.raw_keyed:
                keyed = RestoredKeyGroups(operator.ctx.key_group_range, state.managed_keyed, state.raw_keyed, read)
        self._initialize(
            StateInitializationContext(
                self._operator_state, keyed, restore.checkpoint_id, is_new_operator=state is None
            )
        )

    def _initialize(self, context: StateInitializationContext) -> None:
        operator = self._wrapper.operator
        with OperatorCall(self._wrapper.name):
            operator.initialize_state(context)
            initialize_function(operator.user_function, context, operator.keyed_states, function_states(operator.ctx))

    def prepare_snapshot_pre_barrier(self, checkpoint_id: int) -> None:
        with OperatorCall(self._wrapper.name):
            self._wrapper.operator.prepare_snapshot_pre_barrier(checkpoint_id)

    def snapshot_state(self, checkpoint_id: int, timestamp_ms: int, options: CheckpointOptions) -> OperatorSnapshot:
        """Copies the state: first the operator, then its states, in the order of rule 12.65."""
        operator = self._wrapper.operator
        operator.clock.now_ns += self._sync_latency_ns
        context = StateSnapshotContext(checkpoint_id, timestamp_ms)
        with OperatorCall(self._wrapper.name):
            operator.snapshot_state(context)
            snapshot_function(operator.user_function, context)
            keyed, timers = operator.snapshot_keyed_state()
        write = _Write(self._streams, checkpoint_id, self.operator_id, operator.ctx.subtask_index)
        return OperatorSnapshot(self._wrapper, write, self._operator_state.snapshot(), keyed, timers)

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        with OperatorCall(self._wrapper.name):
            self._wrapper.operator.notify_checkpoint_complete(checkpoint_id)

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        with OperatorCall(self._wrapper.name):
            self._wrapper.operator.notify_checkpoint_aborted(checkpoint_id)

    def notify_checkpoint_subsumed(self, checkpoint_id: int) -> None:
        """Does nothing: no operator of flowsim uses it."""


def initialize_without_checkpoints(wrapper: OperatorWrapper) -> None:
    """Lets a function with state declare it, in a job that never stores it."""
    operator, context = wrapper.operator, StateInitializationContext(OperatorStateBackend(wrapper.name))
    with OperatorCall(wrapper.name):
        initialize_function(operator.user_function, context, operator.keyed_states, function_states(operator.ctx))


class FailingCheckpoints(OperatorCheckpoints):
    """The checkpoints of the head of a task that fails because the run asks for it."""

    __slots__ = ("_failures",)

    def __init__(
        self,
        wrapper: OperatorWrapper,
        streams: CheckpointStreams,
        sync_latency_ns: int,
        failures: CheckpointFailures,
    ) -> None:
        super().__init__(wrapper, streams, sync_latency_ns)
        self._failures = failures

    def snapshot_state(self, checkpoint_id: int, timestamp_ms: int, options: CheckpointOptions) -> OperatorSnapshot:
        self._failures.on_snapshot(checkpoint_id)
        return super().snapshot_state(checkpoint_id, timestamp_ms, options)

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        self._failures.on_notification(checkpoint_id)
        super().notify_checkpoint_complete(checkpoint_id)
