"""``punctuated:``: watermarks that some records carry."""

from __future__ import annotations

from collections.abc import Callable


class MarkedByRecords:
    """The watermark behind a record for which ``marks`` is true: its timestamp, minus the bound, minus 1 ms (rule 8.3)."""

    __slots__ = ("_marks", "_delay_ms")

    def __init__(self, marks: Callable[[object, int], object], bound_ms: int) -> None:
        self._marks = marks
        self._delay_ms = bound_ms + 1

    def __call__(self, value: object, timestamp: int) -> int | None:
        return timestamp - self._delay_ms if self._marks(value, timestamp) else None
