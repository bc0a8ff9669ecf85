"""The contexts of triggers and window functions. Flink: WindowOperator.Context, WindowContext."""

from __future__ import annotations

from collections.abc import Collection
from typing import overload

from flowsim.errors import BadInput
from flowsim.operators.keyed_operator import KeyedOperator
from flowsim.operators.metric_group import MetricGroup
from flowsim.operators.windowing.triggers.trigger import MergingStateDescriptor
from flowsim.operators.windowing.windows import TimeWindow, Window
from flowsim.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from flowsim.state.keyed_state import KeyedStateStore
from flowsim.state.states import AggregatingState, ListState, MapState, MergingState, ReducingState, State, ValueState
from flowsim.timers.internal_timer_service import InternalTimerService


class OperatorTriggerContext:
    """The context of a trigger, one per operator; ``at`` is the current window. Flink: WindowOperator.Context."""

    __slots__ = ("at", "merged_windows", "_operator", "_timers")

    at: Window
    merged_windows: Collection[Window]
    """The windows that were last merged into ``at``."""

    def __init__(self, operator: KeyedOperator, timers: InternalTimerService[Window]) -> None:
        self.at = TimeWindow(0, 0)
        self.merged_windows = ()
        self._operator = operator
        self._timers = timers

    def get_current_watermark(self) -> int:
        return self._timers.current_watermark

    def get_current_processing_time(self) -> int:
        return self._timers.current_processing_time_ms()

    def get_metric_group(self) -> MetricGroup:
        return self._operator.runtime_context.get_metrics_group()

    def register_event_time_timer(self, time: int) -> None:
        self._timers.register_event_time_timer(self.at, time)

    def register_processing_time_timer(self, time: int) -> None:
        self._timers.register_processing_time_timer(self.at, time)

    def delete_event_time_timer(self, time: int) -> None:
        self._timers.delete_event_time_timer(self.at, time)

    def delete_processing_time_timer(self, time: int) -> None:
        self._timers.delete_processing_time_timer(self.at, time)

    @overload
    def get_partitioned_state(self, state_descriptor: ValueStateDescriptor) -> ValueState: ...
    @overload
    def get_partitioned_state(self, state_descriptor: ListStateDescriptor) -> ListState: ...
    @overload
    def get_partitioned_state(self, state_descriptor: MapStateDescriptor) -> MapState: ...
    @overload
    def get_partitioned_state(self, state_descriptor: ReducingStateDescriptor) -> ReducingState: ...
    @overload
    def get_partitioned_state(self, state_descriptor: AggregatingStateDescriptor) -> AggregatingState: ...
    def get_partitioned_state(self, state_descriptor: StateDescriptor) -> State:
        return self._operator.state_of(self.at).get_any(state_descriptor)

    def merge_partitioned_state(self, state_descriptor: MergingStateDescriptor) -> None:
        state = self._operator.state_of(self.at).get_any(state_descriptor)
        if not isinstance(state, MergingState):
            raise BadInput(f"trigger: the state {state_descriptor.get_name()!r} cannot be merged")
        state.merge_namespaces(self.merged_windows)


class OperatorWindowContext:
    """The context of a window function, one per operator; ``at`` is the current window.

    Flink: WindowOperator.WindowContext.
    """

    __slots__ = ("at", "_is_merging", "_operator", "_timers")

    at: Window

    def __init__(self, operator: KeyedOperator, timers: InternalTimerService[Window], is_merging: bool) -> None:
        self.at = TimeWindow(0, 0)
        self._operator = operator
        self._timers = timers
        self._is_merging = is_merging

    def window(self) -> Window:
        return self.at

    def current_processing_time(self) -> int:
        return self._timers.current_processing_time_ms()

    def current_watermark(self) -> int:
        return self._timers.current_watermark

    def window_state(self) -> KeyedStateStore:
        if self._is_merging:
            raise BadInput("merging windows have no state per window: use global_state (rule 10.29)")
        return self._operator.state_of(self.at)

    def global_state(self) -> KeyedStateStore:
        return self._operator.state_of(None)
