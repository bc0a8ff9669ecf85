"""Event-time windows end to end. Flink: TumblingEventTimeWindows (rule 10.2)."""

from __future__ import annotations

from collections.abc import Sequence

from flowsim.operators.stream_operator import Value
from flowsim.operators.windowing.assigners.tumbling_windows import TumblingWindows
from flowsim.operators.windowing.assigners.window_assigner import WindowAssignerContext, event_timestamp
from flowsim.operators.windowing.time_window import TimeWindow
from flowsim.operators.windowing.triggers.event_time_trigger import EventTimeTrigger
from flowsim.operators.windowing.triggers.trigger import Trigger


class TumblingEventTimeWindows(TumblingWindows):
    """By the records' timestamps; a record without one is refused with BadInput. Flink: TumblingEventTimeWindows."""

    __slots__ = ()

    def assign_windows(
        self, element: Value, timestamp: int | None, context: WindowAssignerContext
    ) -> Sequence[TimeWindow]:
        return (self.window_of(event_timestamp(timestamp), context),)

    def default_trigger(self) -> Trigger:
        return EventTimeTrigger()

    def is_event_time(self) -> bool:
        return True
