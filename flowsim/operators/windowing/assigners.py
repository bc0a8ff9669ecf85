"""Which windows a record belongs to. Flink: WindowAssigner and its kinds (rules 10.1-10.6)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from flowsim.errors import BadInput
from flowsim.operators.stream_operator import Value
from flowsim.operators.windowing.time_window import TimeWindow
from flowsim.operators.windowing.triggers import EventTimeTrigger, Trigger
from flowsim.units import NO_TIMESTAMP

NO_TIMESTAMP_MESSAGE: Final = (
    "the record has no timestamp, so no event-time window can take it: give the stream timestamps and watermarks "
    "(assign_timestamps_and_watermarks) before the window"
)


class WindowAssignerContext(Protocol):
    """What an assigner may ask its operator. Flink: WindowAssignerContext."""

    def current_processing_time_ms(self) -> int: ...


class WindowAssigner(Protocol):
    """Assigns windows to records, without merging. Flink: WindowAssigner."""

    def assign_windows(
        self, element: Value, timestamp: int | None, context: WindowAssignerContext
    ) -> Sequence[TimeWindow]:
        """Windows of one record, in the order in which they are to be handled."""

    def default_trigger(self) -> Trigger: ...

    def is_event_time(self) -> bool: ...


class TumblingEventTimeWindows:
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


class SlidingEventTimeWindows:
    """Windows of one size that begin every ``slide_ms``. Flink: SlidingEventTimeWindows (rule 10.4).

    A slide above the size leaves gaps: a record in a gap belongs to no window.
    """

    __slots__ = ("size_ms", "slide_ms", "offset_ms")

    def __init__(self, size_ms: int, slide_ms: int, offset_ms: int = 0) -> None:
        if size_ms < 1 or abs(offset_ms) >= slide_ms:
            raise BadInput(
                "sliding window: expected size >= 1 ms and |offset| < slide, "
                f"got size {size_ms} ms, slide {slide_ms} ms, offset {offset_ms} ms"
            )
        self.size_ms = size_ms
        self.slide_ms = slide_ms
        self.offset_ms = offset_ms

    def assign_windows(
        self, element: Value, timestamp: int | None, context: WindowAssignerContext
    ) -> Sequence[TimeWindow]:
        if timestamp is None or timestamp == NO_TIMESTAMP:
            raise BadInput(NO_TIMESTAMP_MESSAGE)
        last_start = timestamp - (timestamp - self.offset_ms) % self.slide_ms
        # Newest first, as Flink does.
        starts = range(last_start, timestamp - self.size_ms, -self.slide_ms)
        return [TimeWindow(start, start + self.size_ms) for start in starts]

    def default_trigger(self) -> Trigger:
        return EventTimeTrigger()

    def is_event_time(self) -> bool:
        return True
