"""What triggers and window functions see of their operator. Flink: WindowOperator.Context, WindowContext."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Protocol

from flowsim.operators.runtime_context import KeyedStateStore
from flowsim.operators.windowing.time_window import TimeWindow
from flowsim.timers.internal_timer_service import InternalTimerService


class WindowingOperator(Protocol):
    """The part of the window operator that the contexts use; the current key is the one set in it."""

    timers: InternalTimerService[TimeWindow]
    trigger_counts: dict[tuple[object, TimeWindow], int]

    @property
    def current_key_id(self) -> object: ...

    def state_of(self, namespace: Hashable) -> KeyedStateStore:
        """State of the current key in one namespace; None is the namespace of state that windows share."""


class OperatorTriggerContext:
    """One per operator; ``at`` is the window it speaks for now. Flink: WindowOperator.Context."""

    __slots__ = ("at", "_operator")

    at: TimeWindow

    def __init__(self, operator: WindowingOperator) -> None:
        self.at = TimeWindow(0, 0)
        self._operator = operator

    def current_watermark(self) -> int:
        return self._operator.timers.current_watermark

    def current_processing_time(self) -> int:
        return self._operator.timers.current_processing_time_ms()

    def register_event_time_timer(self, timestamp: int) -> None:
        self._operator.timers.register_event_time_timer(self.at, timestamp)

    def register_processing_time_timer(self, timestamp: int) -> None:
        self._operator.timers.register_processing_time_timer(self.at, timestamp)

    def delete_event_time_timer(self, timestamp: int) -> None:
        self._operator.timers.delete_event_time_timer(self.at, timestamp)

    def delete_processing_time_timer(self, timestamp: int) -> None:
        self._operator.timers.delete_processing_time_timer(self.at, timestamp)

    def increment_count(self) -> int:
        counts, place = self._operator.trigger_counts, (self._operator.current_key_id, self.at)
        counts[place] = count = counts.get(place, 0) + 1
        return count

    def clear_count(self) -> None:
        self._operator.trigger_counts.pop((self._operator.current_key_id, self.at), None)


class OperatorWindowContext:
    """One per operator; ``at`` is the window it speaks for now. Flink: WindowOperator.WindowContext."""

    __slots__ = ("at", "_operator")

    at: TimeWindow

    def __init__(self, operator: WindowingOperator) -> None:
        self.at = TimeWindow(0, 0)
        self._operator = operator

    def window(self) -> TimeWindow:
        return self.at

    def current_processing_time(self) -> int:
        return self._operator.timers.current_processing_time_ms()

    def current_watermark(self) -> int:
        return self._operator.timers.current_watermark

    def window_state(self) -> KeyedStateStore:
        return self._operator.state_of(self.at)

    def global_state(self) -> KeyedStateStore:
        return self._operator.state_of(None)
