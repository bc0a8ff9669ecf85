"""Restores and stores the state of one operator of a task. Flink: StreamOperatorStateHandler, OperatorSnapshotFutures."""

from __future__ import annotations

from flowsim.failure_location import OperatorCall
from flowsim.garbage_collection import without_garbage_collection
from flowsim.operators.checkpointed_function import initialize_function, snapshot_function
from flowsim.operators.observed_function_states import function_states
from flowsim.operators.stream_operator import StreamOperator
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
    size_of_stream,
)
from flowsim.tasks.checkpointing.job_master_gateway import TaskRestore


class OperatorSnapshotFutures:
    """Consistent copies of an operator's states, which ``finalize`` writes (rule 12.66). Flink: OperatorSnapshotFutures."""

    __slots__ = ("_operator", "_streams", "_checkpoint_id", "_operator_state", "_keyed_state", "_timers")

    def __init__(
        self,
        operator: StreamOperator,
        streams: CheckpointStreams,
        checkpoint_id: int,
        operator_state: tuple[OperatorStateStream, dict[str, StateMetaInfo]] | None = None,
        keyed_state: KeyedStateStream | None = None,
        timers: TimerStream | None = None,
    ) -> None:
        self._operator = operator
        self._streams = streams
        self._checkpoint_id = checkpoint_id
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
        key_groups = self._operator.ctx.key_group_range
        managed_operator: tuple[OperatorStateHandle, ...] = ()
        if self._operator_state is not None:
            stream, infos = self._operator_state
            managed_operator = (OperatorStateHandle(self._write(stream), infos),)
        keyed, timers = self._keyed_state, self._timers
        return OperatorSubtaskState(
            managed_operator,
            (),
            () if keyed is None else (KeyGroupsStateHandle(self._write(keyed), key_groups),),
            () if timers is None else (KeyGroupsStateHandle(self._write(timers), key_groups),),
        )

    def cancel(self) -> None:
        """Discards the copies."""
        self._operator_state = self._keyed_state = self._timers = None

    def _write(self, stream: OperatorStateStream | KeyedStateStream | TimerStream) -> str:
        ctx = self._operator.ctx
        return self._streams.write(self._checkpoint_id, ctx.operator_id, ctx.subtask_index, stream)


class StreamOperatorStateHandler:
    """The states of one operator subtask in a job with checkpoints. Flink: StreamOperatorStateHandler."""

    __slots__ = ("_operator", "_name", "_streams", "_restore", "_sync_latency_ns", "_operator_state")

    def __init__(
        self,
        operator: StreamOperator,
        name: str,
        streams: CheckpointStreams,
        restore: TaskRestore | None = None,
        sync_latency_ns: int = 0,
    ) -> None:
        """``name``: of the operator, for errors. ``restore``: None: nothing is restored."""
        self._operator = operator
        self._name = name
        self._streams = streams
        self._restore = restore
        self._sync_latency_ns = sync_latency_ns
        self._operator_state = OperatorStateBackend(name)

    def initialize_state(self) -> None:
        """Gives the operator its restored state; called before it is opened (rule 12.92)."""
        operator, restore = self._operator, self._restore
        if restore is None:
            context = StateInitializationContext(self._operator_state)
        else:
            state = restore.states.get(operator.ctx.operator_id)
            keyed: RestoredKeyGroups | None = None
            if state is not None:
                read = self._streams.read
                self._operator_state.restore(state.managed_operator, read)
                if state.managed_keyed or state.raw_keyed:
                    keyed = RestoredKeyGroups(operator.ctx.key_group_range, state.managed_keyed, state.raw_keyed, read)
            context = StateInitializationContext(
                self._operator_state, keyed, restore.checkpoint_id, is_new_operator=state is None
            )
        # Searching for garbage among a million restored cells would take as long as restoring them.
        with without_garbage_collection(), OperatorCall(self._name):
            operator.initialize_state(context)
            initialize_function(operator.user_function, context, operator.keyed_states, function_states(operator.ctx))

    def snapshot_state(self, checkpoint_id: int, timestamp_ms: int) -> OperatorSnapshotFutures:
        """Copies the state: first the operator, then its states, in the order of rule 12.65."""
        operator = self._operator
        operator.clock.now_ns += self._sync_latency_ns
        context = StateSnapshotContext(checkpoint_id, timestamp_ms)
        with OperatorCall(self._name):
            operator.snapshot_state(context)
            snapshot_function(operator.user_function, context)
            with without_garbage_collection():
                keyed, timers = operator.snapshot_keyed_state()
        copied = self._operator_state.snapshot()
        return OperatorSnapshotFutures(operator, self._streams, checkpoint_id, copied, keyed, timers)

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        with OperatorCall(self._name):
            self._operator.notify_checkpoint_complete(checkpoint_id)

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        with OperatorCall(self._name):
            self._operator.notify_checkpoint_aborted(checkpoint_id)


def initialize_without_checkpoints(operator: StreamOperator, name: str) -> None:
    """Lets a function with state declare it, in a job that never stores it. ``name``: of the operator, for errors."""
    context = StateInitializationContext(OperatorStateBackend(name))
    with OperatorCall(name):
        initialize_function(operator.user_function, context, operator.keyed_states, function_states(operator.ctx))
