"""The contexts of functions with a broadcast side. Flink: BaseBroadcastProcessFunction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from flowsim.errors import BadInput
from flowsim.operators.functions.process import ProcessContext
from flowsim.operators.functions.timer_services import TimerService
from flowsim.operators.stream_operator import OperatorContext, Value
from flowsim.state.broadcast_state import BroadcastState, ReadOnlyBroadcastState
from flowsim.state.descriptors import MapStateDescriptor, StateDescriptor
from flowsim.state.operator_state_store import OperatorStateStore
from flowsim.state.snapshots.operator_state_backend import HeapBroadcastState
from flowsim.state.snapshots.snapshot_contexts import StateInitializationContext
from flowsim.state.state_changes import NoKeys, StateChanges
from flowsim.state.states import State
from flowsim.streamrecord.elements import OutputTag
from flowsim.streamrecord.output import Output
from flowsim.units import NO_TIMESTAMP


class KeyedStateFunction(Protocol):
    """A function that is called for every key that has a state. Flink: KeyedStateFunction."""

    def process(self, key: object, state: State) -> None: ...


AnyKeyedStateFunction = KeyedStateFunction | Callable[[object, State], object]


class BroadcastStates:
    """The broadcast states of one subtask. Flink: CoBroadcastWithNonKeyedOperator."""

    __slots__ = ("_descriptors", "_store", "_stored")

    def __init__(self, descriptors: Sequence[MapStateDescriptor]) -> None:
        self._descriptors = {descriptor.name: descriptor for descriptor in descriptors}
        self._store = OperatorStateStore()
        self._stored: list[tuple[BroadcastState, HeapBroadcastState]] = []

    def setup(self, ctx: OperatorContext) -> None:
        """Compares the states with their models, if the run records state; called before ``initialize_state``."""
        trace = None if ctx.trace is None else ctx.trace.state
        if trace is not None:
            self._store = OperatorStateStore(StateChanges(trace, ctx.operator_index, NoKeys()))

    def read_write(self, descriptor: MapStateDescriptor) -> BroadcastState:
        """Returns a state; raises BadInput for a state that the stream was not broadcast with."""
        return self._store.get_broadcast_state(self._known(descriptor))

    def read_only(self, descriptor: MapStateDescriptor) -> ReadOnlyBroadcastState:
        """Returns a read-only state; raises BadInput for a state that the stream was not broadcast with."""
        return self._store.get_read_only_broadcast_state(self._known(descriptor))

    def initialize_state(self, context: StateInitializationContext) -> None:
        """Restores the states of a subtask (rule 12.25)."""
        for descriptor in self._descriptors.values():
            stored = context.operator_state.get_broadcast_state(descriptor.name)
            state = self._store.get_broadcast_state(descriptor)
            for key, value in stored.get():
                state.put(key, value)
            self._stored.append((state, stored))

    def snapshot_state(self) -> None:
        """Brings the stored states up to date."""
        for state, stored in self._stored:
            stored.update(tuple(state.items()))

    def _known(self, descriptor: MapStateDescriptor) -> MapStateDescriptor:
        name = descriptor.name if isinstance(descriptor, StateDescriptor) else descriptor
        known = self._descriptors.get(name) if isinstance(descriptor, MapStateDescriptor) else None
        if known is None:
            names = ", ".join(map(repr, self._descriptors))
            raise BadInput(
                f"get_broadcast_state: no state {name!r:.60} was given to broadcast(...), only {names}: "
                "pass its MapStateDescriptor there too"
            )
        return known


class ReadOnlyBroadcastContext(ProcessContext):
    """The context of the non-broadcast side and of timers. Flink: BaseBroadcastProcessFunction.ReadOnlyContext.

    Without keys there is no current key, and registering timers raises an error.
    """

    __slots__ = ("_states",)

    def __init__(self, timer_service: TimerService, output: Output, states: BroadcastStates) -> None:
        super().__init__(timer_service, output)
        self._states = states

    def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> ReadOnlyBroadcastState:
        """Returns a read-only view of the state."""
        return self._states.read_only(state_descriptor)

    def current_processing_time(self) -> int:
        return self._timer_service.current_processing_time()

    def current_watermark(self) -> int:
        return self._timer_service.current_watermark()


class BroadcastContext:
    """The context of the broadcast side, which may change broadcast state. Flink: BaseBroadcastProcessFunction.Context."""

    __slots__ = ("_output", "_states", "_time", "_timestamp")

    def __init__(self, time: TimerService, output: Output, states: BroadcastStates) -> None:
        self._time = time
        self._output = output
        self._states = states
        self._timestamp = NO_TIMESTAMP

    def set_current(self, timestamp: int | None) -> None:
        """Sets the element; the operator calls it before each call of the function."""
        self._timestamp = NO_TIMESTAMP if timestamp is None else timestamp

    def timestamp(self) -> int:
        """Returns the element's timestamp in ms; without one ``NO_TIMESTAMP``, unlike the other side (rule 9.19)."""
        return self._timestamp

    def current_processing_time(self) -> int:
        return self._time.current_processing_time()

    def current_watermark(self) -> int:
        return self._time.current_watermark()

    def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> BroadcastState:
        """Returns this subtask's copy of the state; every subtask must change its copy in the same way."""
        return self._states.read_write(state_descriptor)

    def output(self, tag: OutputTag, value: Value) -> None:
        """Emits to a side output at once; ``yield tag, value`` emits in order with the results."""
        self._output.collect_side(tag, value, self._timestamp)


class KeyedBroadcastContext(BroadcastContext):
    """The context of the broadcast side if the side that is not broadcast is keyed.

    Flink: KeyedBroadcastProcessFunction.Context.
    """

    __slots__ = ("_apply",)

    def __init__(
        self,
        time: TimerService,
        output: Output,
        states: BroadcastStates,
        apply: Callable[[StateDescriptor, Callable[[object, State], object]], None],
    ) -> None:
        super().__init__(time, output, states)
        self._apply = apply

    def apply_to_keyed_state(self, state_descriptor: StateDescriptor, function: AnyKeyedStateFunction) -> None:
        """Calls ``function(key, state)`` for each key of this subtask that has the state, in the heap's order.

        ``function`` may also be a KeyedStateFunction, which has a method ``process``. Java has this method, PyFlink
        does not.
        """
        process = getattr(function, "process", None)
        if not callable(process):
            process = function
        if not callable(process):
            raise BadInput(f"apply_to_keyed_state: expected a function of key and state, got {function!r:.60}")
        self._apply(state_descriptor, process)
