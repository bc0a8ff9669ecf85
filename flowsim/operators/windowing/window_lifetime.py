"""Decides how long a window accepts records, and when its state is cleaned up.

Flink: WindowOperator (rules 10.8-10.10, 10.15).
"""

from __future__ import annotations

from mypy_extensions import mypyc_attr

from flowsim.operators.windowing.windows import Window, check_window
from flowsim.timers.internal_timer_service import InternalTimerService
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP, as_long


@mypyc_attr(allow_interpreted_subclasses=True)
class WindowLifetime:
    """Lateness and cleanup of the windows of one operator; times in ms. Processing-time windows have no lateness."""

    __slots__ = ("is_event_time", "allowed_lateness_ms")

    def __init__(self, is_event_time: bool, allowed_lateness_ms: int) -> None:
        if allowed_lateness_ms < 0:
            raise ValueError(f"allowed lateness must be 0 ms or more, got {allowed_lateness_ms}")
        self.is_event_time = is_event_time
        self.allowed_lateness_ms = allowed_lateness_ms

    def cleanup_time(self, window: Window) -> int:
        """Returns the time in ms at which the window's state is removed (rule 10.8)."""
        max_timestamp = window.max_timestamp()
        if type(max_timestamp) is not int:
            check_window(window)
        end: int = max_timestamp
        if not self.is_event_time:
            return end
        cleanup_time = end + self.allowed_lateness_ms
        return cleanup_time if cleanup_time < MAX_WATERMARK else MAX_WATERMARK

    def is_cleanup_time(self, window: Window, time: int) -> bool:
        """Returns True if a timer of this time cleans up the window."""
        return time == self.cleanup_time(window)

    def is_window_late(self, window: Window, watermark: int) -> bool:
        """Returns True if the window accepts no more records (rule 10.9). Flink: isWindowLate."""
        return self.is_event_time and self.cleanup_time(window) <= watermark

    def is_element_late(self, timestamp: int | None, watermark: int) -> bool:
        """Returns True if a record that no window accepted is late (rule 10.9). Flink: isElementLate."""
        at = NO_TIMESTAMP if timestamp is None else timestamp
        return self.is_event_time and as_long(at + self.allowed_lateness_ms) <= watermark

    def register_cleanup_timer(self, window: Window, timers: InternalTimerService[Window]) -> None:
        """Registers the cleanup timer (rule 10.8). With lateness 0 it is the trigger's own timer (rule 10.15)."""
        cleanup_time = self.cleanup_time(window)
        if cleanup_time == MAX_WATERMARK:
            return
        if self.is_event_time:
            timers.register_event_time_timer(window, cleanup_time)
        else:
            timers.register_processing_time_timer(window, cleanup_time)

    def delete_cleanup_timer(self, window: Window, timers: InternalTimerService[Window]) -> None:
        """Deletes the timer of ``register_cleanup_timer``."""
        cleanup_time = self.cleanup_time(window)
        if cleanup_time == MAX_WATERMARK:
            return
        if self.is_event_time:
            timers.delete_event_time_timer(window, cleanup_time)
        else:
            timers.delete_processing_time_timer(window, cleanup_time)
