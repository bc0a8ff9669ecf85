"""Processing-time windows end to end. Flink: TumblingProcessingTimeWindows (rule 10.6)."""

from __future__ import annotations

from collections.abc import Sequence

from flowsim.operators.stream_operator import Value
from flowsim.operators.windowing.assigners.tumbling_windows import TumblingWindows
from flowsim.operators.windowing.assigners.window_assigner import WindowAssignerContext
from flowsim.operators.windowing.time_window import TimeWindow
from flowsim.operators.windowing.triggers.processing_time_trigger import ProcessingTimeTrigger
from flowsim.operators.windowing.triggers.trigger import Trigger


class TumblingProcessingTimeWindows(TumblingWindows):
    """By the clock of the operator, whatever timestamps records have. Flink: TumblingProcessingTimeWindows."""

    __slots__ = ()

    def assign_windows(
        self, element: Value, timestamp: int | None, context: WindowAssignerContext
    ) -> Sequence[TimeWindow]:
        return (self.window_of(context.get_current_processing_time(), context),)

    def default_trigger(self) -> Trigger:
        return ProcessingTimeTrigger()

    def is_event_time(self) -> bool:
        return False
