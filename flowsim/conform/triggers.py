"""Triggers in Python on the real Flink: those of the user, and those that Flink does not have."""

from __future__ import annotations

from typing import Any

from flowsim.conform.flink_contexts import FlinkKeyedStates, FlinkSide, FlinkTimerService
from flowsim.conform.functions import window_of
from flowsim.operators.metric_group import MetricGroup
from flowsim.operators.windowing.triggers.trigger import AnyTrigger, MergingStateDescriptor
from flowsim.units import NO_TIMESTAMP


class FlinkTriggerContext(FlinkTimerService):
    """The context of a trigger. It calls Flink's Trigger.TriggerContext and OnMergeContext."""

    __slots__ = ("_states",)

    def __init__(self, side: FlinkSide) -> None:
        super().__init__(side)
        self._states = FlinkKeyedStates(side)

    def get_current_processing_time(self) -> int:
        return self.current_processing_time()

    def get_current_watermark(self) -> int:
        return self.current_watermark()

    def get_metric_group(self) -> MetricGroup:
        return MetricGroup()

    def get_partitioned_state(self, state_descriptor: Any) -> Any:
        return self._states.of(state_descriptor)

    def merge_partitioned_state(self, state_descriptor: MergingStateDescriptor) -> None:
        self._states.merge(state_descriptor)


class CalledTrigger:
    """A trigger that Java calls. What it keeps is in Flink's state, so that all subtasks share it."""

    def __init__(self, side: FlinkSide, trigger: AnyTrigger) -> None:
        self._values = side.values
        self._trigger = trigger
        self._context = FlinkTriggerContext(side)

    def on_element(self, record: int, timestamp: int, window: str) -> str:
        known = None if timestamp == NO_TIMESTAMP else timestamp
        element = self._values.value(record)
        return self._trigger.on_element(element, known, window_of(window), self._context).name

    def on_event_time(self, _: int, time: int, window: str) -> str:
        return self._trigger.on_event_time(time, window_of(window), self._context).name

    def on_processing_time(self, _: int, time: int, window: str) -> str:
        return self._trigger.on_processing_time(time, window_of(window), self._context).name

    def on_merge(self, _: int, __: int, window: str) -> str:
        self._trigger.on_merge(window_of(window), self._context)
        return ""

    def clear(self, _: int, __: int, window: str) -> str:
        self._trigger.clear(window_of(window), self._context)
        return ""
