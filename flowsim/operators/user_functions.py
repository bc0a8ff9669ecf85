"""Operators that run a user function, and its context. Flink: AbstractUdfStreamOperator, StreamingRuntimeContext."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from typing import Protocol

from flowsim.errors import BadInput
from flowsim.operators.async_calls import AsyncCalls
from flowsim.operators.metric_group import MetricGroup
from flowsim.operators.stream_operator import OperatorContext, Output, StreamOperator, Value
from flowsim.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from flowsim.state.keyed_state import KeyedStateStore
from flowsim.state.states import AggregatingState, ListState, MapState, ReducingState, ValueState
from flowsim.streamrecord.elements import OutputTag
from flowsim.units import NO_TIMESTAMP

Results = Iterable[Value] | None
"""The results of a process function: values for the main output, ``(OutputTag, value)`` for a side output."""


def emit_results(results: Results, timestamp: int | None, output: Output, side_timestamp: int = NO_TIMESTAMP) -> None:
    """Emits one result at a time, so that a blocked output pauses a generator between two results (D3).

    Side outputs also have ``timestamp``, or ``side_timestamp`` if the main output has none (rule 9.19).
    """
    if results is None:
        return
    for result in results:
        if type(result) is tuple and len(result) == 2 and isinstance(result[0], OutputTag):
            output.collect_side(result[0], result[1], side_timestamp if timestamp is None else timestamp)
        else:
            output.collect(result, timestamp)


__all__ = ["FunctionLife", "FunctionOperator", "KeyedStateStore", "RuntimeContext", "UserFunction"]


class RuntimeContext:
    """Information about the function's subtask, and its keyed state on a keyed stream. Flink: RuntimeContext."""

    __slots__ = ("_ctx", "_metrics", "_store", "_why_no_state")

    def __init__(
        self,
        ctx: OperatorContext,
        store: KeyedStateStore | None,
        why_no_state: str = "needs a keyed stream: put key_by(...) before the operator",
    ) -> None:
        self._ctx = ctx
        self._store = store
        self._why_no_state = why_no_state
        self._metrics = MetricGroup()

    def get_task_name(self) -> str:
        """Returns the name of the whole chain, such as ``Source: lines -> words``."""
        return self._ctx.task_name.rpartition(" (")[0]

    def get_task_name_with_subtasks(self) -> str:
        """Returns the name with subtask and attempt, such as ``words (2/3)#0``."""
        return f"{self._ctx.task_name}#{self.get_attempt_number()}"

    def get_number_of_parallel_subtasks(self) -> int:
        return self._ctx.parallelism

    def get_max_number_of_parallel_subtasks(self) -> int:
        return self._ctx.max_parallelism

    def get_index_of_this_subtask(self) -> int:
        """Returns the index of this subtask, from 0."""
        return self._ctx.subtask_index

    def get_attempt_number(self) -> int:
        """Returns the number of this attempt of the subtask, from 0."""
        return self._ctx.attempt_number

    def get_metrics_group(self) -> MetricGroup:
        """Returns the user-defined metrics of this function."""
        return self._metrics

    @property
    def async_calls(self) -> AsyncCalls:
        """flowsim's own: starts asynchronous calls. Raises BadInput without a task."""
        if self._ctx.async_calls is None:
            raise BadInput(f"operator {self._ctx.operator_name}: no task runs it, so it cannot make asynchronous calls")
        return self._ctx.async_calls

    @property
    def random(self) -> Random:
        """flowsim's own: random numbers from the run's seed, with a separate stream for each operator and subtask."""
        return self._ctx.random

    def without_state(self, why: str) -> RuntimeContext:
        """Returns this context without access to state; ``why`` is the end of the error message."""
        return RuntimeContext(self._ctx, None, why)

    def get_state(self, state_descriptor: ValueStateDescriptor) -> ValueState:
        return self._keyed("get_state").get_state(state_descriptor)

    def get_list_state(self, state_descriptor: ListStateDescriptor) -> ListState:
        return self._keyed("get_list_state").get_list_state(state_descriptor)

    def get_map_state(self, state_descriptor: MapStateDescriptor) -> MapState:
        return self._keyed("get_map_state").get_map_state(state_descriptor)

    def get_reducing_state(self, state_descriptor: ReducingStateDescriptor) -> ReducingState:
        return self._keyed("get_reducing_state").get_reducing_state(state_descriptor)

    def get_aggregating_state(self, state_descriptor: AggregatingStateDescriptor) -> AggregatingState:
        return self._keyed("get_aggregating_state").get_aggregating_state(state_descriptor)

    def _keyed(self, method: str) -> KeyedStateStore:
        if self._store is None:
            raise BadInput(f"operator {self._ctx.operator_name}: {method} {self._why_no_state}")
        return self._store


class UserFunction(Protocol):
    """The life cycle of a user function. Flink: RichFunction."""

    def open(self, runtime_context: RuntimeContext) -> None: ...

    def close(self) -> None: ...


class FunctionLife:
    """Opens a user function once, and closes it once if it was opened (section 4).

    None stands for a function without life cycle.
    """

    __slots__ = ("_function", "_is_open")

    def __init__(self, function: UserFunction | None) -> None:
        self._function = function
        self._is_open = False

    @property
    def function(self) -> UserFunction | None:
        return self._function

    def open(self, runtime_context: RuntimeContext) -> None:
        if self._function is not None:
            self._is_open = True
            self._function.open(runtime_context)

    def close(self) -> None:
        if self._function is not None and self._is_open:
            self._is_open = False
            self._function.close()

    def use_interruptible_timers(self) -> bool:
        """Returns True if the function allows its timers to yield to mails (rule 9.18). Flink: RichFunction."""
        opted_in = getattr(self._function, "use_interruptible_timers", None)
        return opted_in is not None and bool(opted_in())


class FunctionOperator(StreamOperator):
    """An operator with a user function, which may have a life cycle. Flink: AbstractUdfStreamOperator."""

    __slots__ = ("_life",)

    def __init__(self, user_function: UserFunction | None) -> None:
        self._life = FunctionLife(user_function)

    def open(self) -> None:
        self._life.open(RuntimeContext(self.ctx, None))

    def close(self) -> None:
        self._life.close()
