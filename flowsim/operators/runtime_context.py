"""The context of a user function. Flink: StreamingRuntimeContext."""

from __future__ import annotations

from copy import copy
from random import Random
from typing import TYPE_CHECKING, NoReturn, TypeVar

from flowsim.errors import BadInput
from flowsim.not_simulated import missing_attribute
from flowsim.operators.async_calls import AsyncCalls
from flowsim.operators.metric_group import MetricGroup
from flowsim.operators.stream_operator import OperatorContext
from flowsim.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from flowsim.state.keyed_state import KeyedStateStore
from flowsim.state.states import AggregatingState, ListState, MapState, ReducingState, ValueState

S = TypeVar("S", bound=StateDescriptor)


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

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            raise missing_attribute(self, name)

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

    def get_job_parameter(self, key: str, default_value: str) -> str:
        """Returns a global parameter of the job, which ``ExecutionConfig.set_global_job_parameters`` sets."""
        return self._ctx.job_parameters.get(key, default_value)

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
        return self._keyed("get_state").get_state(self._expiring(state_descriptor))

    def get_list_state(self, state_descriptor: ListStateDescriptor) -> ListState:
        return self._keyed("get_list_state").get_list_state(self._expiring(state_descriptor))

    def get_map_state(self, state_descriptor: MapStateDescriptor) -> MapState:
        return self._keyed("get_map_state").get_map_state(self._expiring(state_descriptor))

    def get_reducing_state(self, state_descriptor: ReducingStateDescriptor) -> ReducingState:
        return self._keyed("get_reducing_state").get_reducing_state(self._expiring(state_descriptor))

    def get_aggregating_state(self, state_descriptor: AggregatingStateDescriptor) -> AggregatingState:
        return self._keyed("get_aggregating_state").get_aggregating_state(self._expiring(state_descriptor))

    def _keyed(self, method: str) -> KeyedStateStore:
        if self._store is None:
            raise BadInput(f"operator {self._ctx.operator_name}: {method} {self._why_no_state}")
        return self._store

    def _expiring(self, descriptor: S) -> S:
        """Returns the descriptor with the operator's time to live, unless it has its own."""
        ttl = self._ctx.state_ttl
        if ttl is None or not isinstance(descriptor, StateDescriptor) or descriptor.ttl_config is not None:
            return descriptor
        expiring = copy(descriptor)
        expiring.enable_time_to_live(ttl)
        return expiring
