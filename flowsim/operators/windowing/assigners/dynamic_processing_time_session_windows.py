"""Sessions in processing time, with a gap for each record. Flink: DynamicProcessingTimeSessionWindows (rule 10.5, 10.6)."""

from __future__ import annotations

from collections.abc import Sequence

from flowsim.operators.stream_operator import Value
from flowsim.operators.windowing.assigners.session_windows import (
    SessionWindows,
    SessionWindowTimeGapExtractor,
    dynamic_gap,
)
from flowsim.operators.windowing.assigners.window_assigner import WindowAssignerContext
from flowsim.operators.windowing.time_window import TimeWindow, window_from
from flowsim.operators.windowing.triggers.processing_time_trigger import ProcessingTimeTrigger
from flowsim.operators.windowing.triggers.trigger import Trigger


class DynamicProcessingTimeSessionWindows(SessionWindows):
    """By the clock of the operator, whatever timestamps records have. Flink: DynamicProcessingTimeSessionWindows."""

    __slots__ = ("extractor",)

    def __init__(self, extractor: SessionWindowTimeGapExtractor) -> None:
        self.extractor = extractor

    def assign_windows(
        self, element: Value, timestamp: int | None, context: WindowAssignerContext
    ) -> Sequence[TimeWindow]:
        now_ms = context.get_current_processing_time()
        return (window_from(now_ms, dynamic_gap(self.extractor, element)),)

    def default_trigger(self) -> Trigger:
        return ProcessingTimeTrigger()

    def is_event_time(self) -> bool:
        return False
