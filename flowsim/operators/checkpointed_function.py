"""User functions with operator state. Flink: CheckpointedFunction, FunctionInitializationContext."""

from __future__ import annotations

from abc import ABC, abstractmethod

from flowsim.operators.function_states import FunctionBroadcastState, FunctionListState
from flowsim.operators.observed_function_states import UNOBSERVED_STATES, FunctionStates
from flowsim.state.descriptors import ListStateDescriptor, MapStateDescriptor
from flowsim.state.keyed_state import KeyedStateStore
from flowsim.state.redistribution.operator_state_handle import DistributionMode
from flowsim.state.snapshots.operator_state_backend import OperatorStateBackend
from flowsim.state.snapshots.snapshot_contexts import StateInitializationContext, StateSnapshotContext


class FunctionOperatorStateStore:
    """Operator state by name. Flink: OperatorStateStore."""

    __slots__ = ("_states", "_store")

    def __init__(self, store: OperatorStateBackend, states: FunctionStates) -> None:
        self._store = store
        self._states = states

    def get_list_state(self, state_descriptor: ListStateDescriptor) -> FunctionListState:
        """Returns a list whose elements are distributed to the subtasks when the parallelism changes (rule 12.24)."""
        return self._states.list_state(state_descriptor, self._store.get_list_state(state_descriptor.name))

    def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> FunctionBroadcastState:
        """Returns a map of which every subtask has the same entries (rule 12.25)."""
        return self._states.broadcast_state(state_descriptor, self._store.get_broadcast_state(state_descriptor.name))

    def get_union_list_state(self, state_descriptor: ListStateDescriptor) -> FunctionListState:
        """Returns a list of which every subtask restores all elements (rule 12.25)."""
        state = self._store.get_list_state(state_descriptor.name, DistributionMode.UNION)
        return self._states.list_state(state_descriptor, state)


class FunctionInitializationContext:
    """What a function gets to declare and to restore its state. Flink: FunctionInitializationContext."""

    __slots__ = ("_context", "_states", "_keyed_states")

    def __init__(
        self,
        context: StateInitializationContext,
        keyed_states: KeyedStateStore | None = None,
        states: FunctionStates = UNOBSERVED_STATES,
    ) -> None:
        self._context = context
        self._keyed_states = keyed_states
        self._states = states

    def is_restored(self) -> bool:
        """Returns True if the job was restored, also for a function without state in the checkpoint (rule 12.26)."""
        return self._context.is_restored

    def get_restored_checkpoint_id(self) -> int | None:
        """Returns the id of the restored checkpoint; None if nothing was restored."""
        return self._context.restored_checkpoint_id

    def get_operator_state_store(self) -> FunctionOperatorStateStore:
        return FunctionOperatorStateStore(self._context.operator_state, self._states)

    def get_keyed_state_store(self) -> KeyedStateStore | None:
        """Returns the states of keys, to be declared here and used with each record; None behind no ``key_by``."""
        return self._keyed_states


class FunctionSnapshotContext:
    """The checkpoint for which a function stores its state. Flink: FunctionSnapshotContext."""

    __slots__ = ("_context",)

    def __init__(self, context: StateSnapshotContext) -> None:
        self._context = context

    def get_checkpoint_id(self) -> int:
        return self._context.checkpoint_id

    def get_checkpoint_timestamp(self) -> int:
        """Returns the time of the trigger in ms."""
        return self._context.timestamp_ms


class CheckpointedFunction(ABC):
    """A user function with operator state. Flink: CheckpointedFunction."""

    @abstractmethod
    def initialize_state(self, context: FunctionInitializationContext) -> None:
        """Declares the states and reads restored ones; called before ``open``, also without checkpoints."""

    @abstractmethod
    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        """Brings the states up to date for a checkpoint; an exception fails the task (rule 12.7)."""


def initialize_function(
    function: object,
    context: StateInitializationContext,
    keyed_states: KeyedStateStore | None = None,
    states: FunctionStates = UNOBSERVED_STATES,
) -> None:
    """Lets a function initialize its state, if it has any; ``states`` creates its operator states."""
    if isinstance(function, CheckpointedFunction):
        function.initialize_state(FunctionInitializationContext(context, keyed_states, states))


def snapshot_function(function: object, context: StateSnapshotContext) -> None:
    """Lets a function store its state, if it has any."""
    if isinstance(function, CheckpointedFunction):
        function.snapshot_state(FunctionSnapshotContext(context))
