"""A clock of the job manager that tests set."""

from __future__ import annotations


class JobManagerClock:
    """Absolute and relative time are the same."""

    def __init__(self, now_ms: int = 0) -> None:
        self.now_ms = now_ms

    def absolute_time_ms(self) -> int:
        return self.now_ms

    def relative_time_ms(self) -> int:
        return self.now_ms
