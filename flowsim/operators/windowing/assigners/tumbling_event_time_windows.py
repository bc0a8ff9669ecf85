"""Event-time windows end to end. Flink: TumblingEventTimeWindows (rule 10.2)."""

from __future__ import annotations

from collections.abc import Sequence

from flowsim.errors import BadInput
from flowsim.operators.stream_operator import Value
from flowsim.operators.windowing.assigners.window_assigner import (
    NO_TIMESTAMP_MESSAGE,
    WindowAssigner,
    WindowAssignerContext,
)
from flowsim.operators.windowing.time_window import TimeWindow
from flowsim.operators.windowing.triggers.event_time_trigger import EventTimeTrigger
from flowsim.operators.windowing.triggers.trigger import Trigger
from flowsim.units import NO_TIMESTAMP


class TumblingEventTimeWindows(WindowAssigner):
    """Windows of one size, end to end. Flink: TumblingEventTimeWindows (rule 10.2)."""

    __slots__ = ("size_ms", "offset_ms", "phase_ms")

    def __init__(self, size_ms: int, offset_ms: int = 0) -> None:
        if size_ms < 1 or abs(offset_ms) >= size_ms:
            raise BadInput(
                f"tumbling window: expected size >= 1 ms and |offset| < size, got size {size_ms} ms, offset {offset_ms} ms"
            )
        self.size_ms = size_ms
        self.offset_ms = offset_ms
        self.phase_ms = offset_ms % size_ms

    def assign_windows(
        self, element: Value, timestamp: int | None, context: WindowAssignerContext
    ) -> Sequence[TimeWindow]:
        if timestamp is None or timestamp == NO_TIMESTAMP:
            raise BadInput(NO_TIMESTAMP_MESSAGE)
        start = timestamp - (timestamp - self.phase_ms) % self.size_ms
        return (TimeWindow(start, start + self.size_ms),)

    def default_trigger(self) -> Trigger:
        return EventTimeTrigger()

    def is_event_time(self) -> bool:
        return True
