"""Sessions in processing time, with one gap for all. Flink: ProcessingTimeSessionWindows (rule 10.5, 10.6)."""

from __future__ import annotations

from collections.abc import Sequence

from flowsim.operators.stream_operator import Value
from flowsim.operators.windowing.assigners.session_windows import SessionWindows, fixed_gap
from flowsim.operators.windowing.assigners.window_assigner import WindowAssignerContext
from flowsim.operators.windowing.time_window import TimeWindow, window_from
from flowsim.operators.windowing.triggers.processing_time_trigger import ProcessingTimeTrigger
from flowsim.operators.windowing.triggers.trigger import Trigger


class ProcessingTimeSessionWindows(SessionWindows):
    """By the clock of the operator, whatever timestamps records have. Flink: ProcessingTimeSessionWindows."""

    __slots__ = ("gap_ms",)

    def __init__(self, gap_ms: int) -> None:
        self.gap_ms = fixed_gap(gap_ms)

    def assign_windows(
        self, element: Value, timestamp: int | None, context: WindowAssignerContext
    ) -> Sequence[TimeWindow]:
        return (window_from(context.get_current_processing_time(), self.gap_ms),)

    def default_trigger(self) -> Trigger:
        return ProcessingTimeTrigger()

    def is_event_time(self) -> bool:
        return False
