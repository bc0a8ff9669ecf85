"""A clock that stands still while the task is back-pressured. Flink: PausableRelativeClock (rule 8.4)."""

from __future__ import annotations

from collections.abc import Callable


class PausableRelativeClock:
    """Relative nanoseconds without the time spent paused; pauses nest. Flink: PausableRelativeClock."""

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
        """Back pressure, soft or hard, begins."""
        if self._pauses == 0:
            self._paused_since_ns = self._base_clock_ns()
        self._pauses += 1

    def un_pause(self) -> None:
        """It ends; raises ValueError when it never began."""
        if self._pauses == 0:
            raise ValueError("un_pause without pause")
        self._pauses -= 1
        if self._pauses == 0:
            self._paused_ns += self._base_clock_ns() - self._paused_since_ns
