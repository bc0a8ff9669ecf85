"""Declares a stream without records idle. Flink: WatermarksWithIdleness, PausableRelativeClock."""

from __future__ import annotations

from collections.abc import Callable

from flowsim.units import NS_PER_MS
from flowsim.watermark.generators import WatermarkGenerator
from flowsim.watermark.watermark_output import WatermarkOutput


class PausableRelativeClock:
    """A clock in relative nanoseconds that does not count paused time; pauses nest. Flink: PausableRelativeClock."""

    __slots__ = ("_base_clock_ns", "_paused_ns", "_paused_since_ns", "_pauses")

    def __init__(self, base_clock_ns: Callable[[], int]) -> None:
        self._base_clock_ns = base_clock_ns
        self._paused_ns = 0
        self._paused_since_ns = 0
        self._pauses = 0

    def relative_time_ns(self) -> int:
        now_ns = self._paused_since_ns if self._pauses else self._base_clock_ns()
        return now_ns - self._paused_ns

    def is_paused(self) -> bool:
        return self._pauses > 0

    def pause(self) -> None:
        """Pauses the clock when back pressure, soft or hard, starts."""
        if self._pauses == 0:
            self._paused_since_ns = self._base_clock_ns()
        self._pauses += 1

    def un_pause(self) -> None:
        """Continues the clock when back pressure ends; raises ValueError if the clock was not paused."""
        if self._pauses == 0:
            raise ValueError("un_pause without pause")
        self._pauses -= 1
        if self._pauses == 0:
            self._paused_ns += self._base_clock_ns() - self._paused_since_ns


class WatermarksWithIdleness(WatermarkGenerator):
    """Declares the stream idle after a time without events. Flink: WatermarksWithIdleness (rule 8.4).

    The first periodic call without events only stores the time. Idleness is declared at the first later call that is
    *more* than the timeout after the stored time. ``clock_ns`` returns relative nanoseconds above 0 (rule 0.5);
    ``stands_still`` returns whether that clock is paused (back pressure).
    """

    __slots__ = (
        "_inner",
        "_timeout_ns",
        "_clock_ns",
        "_stands_still",
        "_events",
        "_events_seen",
        "_inactive_since_ns",
        "_is_idle",
    )

    def __init__(
        self,
        inner: WatermarkGenerator,
        idle_timeout_ms: int,
        clock_ns: Callable[[], int],
        stands_still: Callable[[], bool] = lambda: False,
    ) -> None:
        if idle_timeout_ms <= 0:
            raise ValueError(f"an idle timeout must be above 0 ms, got {idle_timeout_ms}")
        self._inner = inner
        self._timeout_ns = idle_timeout_ms * NS_PER_MS
        self._clock_ns = clock_ns
        self._stands_still = stands_still
        self._events = 0
        self._events_seen = 0
        self._inactive_since_ns = 0
        self._is_idle = False

    def on_event(self, value: object, timestamp: int, output: WatermarkOutput) -> None:
        self._inner.on_event(value, timestamp, output)
        self._events += 1
        self._is_idle = False

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        if not self._check_if_idle():
            self._inner.on_periodic_emit(output)
        elif not self._is_idle:
            self._is_idle = True
            output.mark_idle()

    def _check_if_idle(self) -> bool:
        if self._events != self._events_seen:
            self._events_seen = self._events
            self._inactive_since_ns = 0
            return False
        if self._inactive_since_ns == 0:
            self._inactive_since_ns = self._clock_ns()
            return False
        return self._clock_ns() - self._inactive_since_ns > self._timeout_ns

    def has_pending_effect(self, emitted: int) -> bool:
        """True if a later call may have an effect.

        A paused countdown has no effect: only the end of back pressure continues it.
        """
        if self._stands_still():
            return not self._is_idle and self._inner.has_pending_effect(emitted)
        return not self._is_idle
