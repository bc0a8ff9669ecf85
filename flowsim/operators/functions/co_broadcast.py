"""A stream connected to a broadcast stream. Flink: CoBroadcastWithNonKeyedOperator, CoBroadcastWithKeyedOperator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from flowsim.operators.functions.broadcast_contexts import (
    BroadcastContext,
    BroadcastStates,
    KeyedBroadcastContext,
    ReadOnlyBroadcastContext,
)
from flowsim.operators.functions.process import KeyedFunctionOperator
from flowsim.operators.functions.timer_services import KeyedTimerService, ReadOnlyTimerService
from flowsim.operators.inputs.combined_input import combined_inputs
from flowsim.operators.inputs.multiple_input import MultipleInputOperator
from flowsim.operators.runtime_context import RuntimeContext
from flowsim.operators.stream_operator import OperatorContext, OperatorInput, Value
from flowsim.operators.user_functions import FunctionLife, Results, UserFunction, emit_results
from flowsim.state.descriptors import MapStateDescriptor, StateDescriptor
from flowsim.state.snapshots.snapshot_contexts import StateInitializationContext, StateSnapshotContext
from flowsim.state.states import State
from flowsim.streamrecord.output import Output
from flowsim.values.keys import state_key


class BroadcastProcessFunction(UserFunction, Protocol):
    """Processes elements of both sides; the broadcast side may change broadcast state. Flink: BroadcastProcessFunction."""

    def process_element(self, value: Value, ctx: ReadOnlyBroadcastContext) -> Results: ...

    def process_broadcast_element(self, value: Value, ctx: BroadcastContext) -> Results: ...


class KeyedBroadcastProcessFunction(UserFunction, Protocol):
    """Processes elements of both sides, with keyed state and timers on the non-broadcast side.

    Flink: KeyedBroadcastProcessFunction.
    """

    def process_element(self, value: Value, ctx: ReadOnlyBroadcastContext) -> Results: ...

    def process_broadcast_element(self, value: Value, ctx: KeyedBroadcastContext) -> Results: ...

    def on_timer(self, timestamp: int, ctx: ReadOnlyBroadcastContext) -> Results: ...


class CoBroadcastWithNonKeyedOperator(MultipleInputOperator):
    """Runs a BroadcastProcessFunction; input 1 is the stream, input 2 the broadcast stream.

    Flink: CoBroadcastWithNonKeyedOperator.
    """

    __slots__ = ("_context", "_function", "_life", "_read_only", "_states", "_timer_service")

    _context: BroadcastContext
    _read_only: ReadOnlyBroadcastContext
    _timer_service: ReadOnlyTimerService

    def __init__(self, function: BroadcastProcessFunction, descriptors: Sequence[MapStateDescriptor]) -> None:
        super().__init__(2)
        self._function = function
        self._life = FunctionLife(function)
        self._states = BroadcastStates(descriptors)

    def setup(self, ctx: OperatorContext, output: Output) -> None:
        super().setup(ctx, output)
        self._states.setup(ctx)
        self._timer_service = ReadOnlyTimerService(ctx.processing_time)
        self._read_only = ReadOnlyBroadcastContext(self._timer_service, output, self._states)
        self._context = BroadcastContext(self._timer_service, output, self._states)

    def initialize_state(self, context: StateInitializationContext) -> None:
        super().initialize_state(context)
        self._states.initialize_state(context)

    def snapshot_state(self, context: StateSnapshotContext) -> None:
        super().snapshot_state(context)
        self._states.snapshot_state()

    def open(self) -> None:
        self._life.open(RuntimeContext(self.ctx, None))

    def process_element_of(self, input_id: int, value: Value, timestamp: int | None) -> None:
        if input_id == 1:
            self._read_only.set_current(timestamp, timestamp, None, None)
            results = self._function.process_element(value, self._read_only)
        else:
            self._context.set_current(timestamp)
            results = self._function.process_broadcast_element(value, self._context)
        emit_results(results, timestamp, self.output)

    def process_watermark(self, timestamp: int) -> None:
        self._timer_service.watermark = timestamp
        self.output.emit_watermark(timestamp)

    def close(self) -> None:
        self._life.close()


class CoBroadcastWithKeyedOperator(KeyedFunctionOperator):
    """Runs a KeyedBroadcastProcessFunction; input 1 is the keyed stream, input 2 the broadcast stream.

    A broadcast element has no key. The current key stays that of the previous record or timer, or, after
    ``apply_to_keyed_state``, the last visited key. Flink: CoBroadcastWithKeyedOperator.
    """

    __slots__ = ("_broadcast_context", "_function", "_inputs", "_states")

    _broadcast_context: KeyedBroadcastContext
    _inputs: tuple[OperatorInput, ...]

    def __init__(self, function: KeyedBroadcastProcessFunction, descriptors: Sequence[MapStateDescriptor]) -> None:
        super().__init__(function)  # type: ignore[arg-type]  # its context is the one made in setup
        self._function = function
        self._states = BroadcastStates(descriptors)

    def setup(self, ctx: OperatorContext, output: Output) -> None:
        super().setup(ctx, output)
        self._states.setup(ctx)
        self.state.keep_order()
        timer_service = KeyedTimerService(self._timers)
        read_only = ReadOnlyBroadcastContext(timer_service, output, self._states)
        self._context = read_only
        self._broadcast_context = KeyedBroadcastContext(timer_service, output, self._states, self._apply_to_keyed_state)
        self._inputs = combined_inputs(self, [self._process_input(read_only), self._process_broadcast_element])

    def initialize_state(self, context: StateInitializationContext) -> None:
        super().initialize_state(context)
        self._states.initialize_state(context)

    def snapshot_state(self, context: StateSnapshotContext) -> None:
        super().snapshot_state(context)
        self._states.snapshot_state()

    def _apply_to_keyed_state(self, descriptor: StateDescriptor, function: Callable[[object, State], object]) -> None:
        """Applies a function to the state of every key; also sets the current key of the operator and its timers."""

        def with_key(key: object, state: State) -> object:
            self.current_key = key
            self.current_key_id = state_key(key)
            return function(key, state)

        self.state.apply_to_all_keys(descriptor, with_key)

    def _process_input(self, context: ReadOnlyBroadcastContext) -> Callable[[Value, int | None], None]:
        process = self._function.process_element
        key_of = self.key_selector

        def process_element(value: Value, timestamp: int | None) -> None:
            self.clock.now_ns += self.cost_ns
            self.records_in += 1
            key = key_of(value)
            self.set_current_key(key, state_key(key))
            context.set_current(timestamp, timestamp, key, None)
            emit_results(process(value, context), timestamp, self.output)

        return process_element

    def _process_broadcast_element(self, value: Value, timestamp: int | None) -> None:
        self.clock.now_ns += self.cost_ns
        self.records_in += 1
        self._broadcast_context.set_current(timestamp)
        results = self._function.process_broadcast_element(value, self._broadcast_context)
        emit_results(results, timestamp, self.output)

    @property
    def inputs(self) -> tuple[OperatorInput, ...]:
        return self._inputs
