"""The one window that takes all there is. Flink: GlobalWindow (rule 10.6)."""

from __future__ import annotations

from typing import Final, final

from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP


@final
class GlobalWindow:
    """All of time; every instance is the same window. Flink: GlobalWindow."""

    __slots__ = ()

    start: Final = NO_TIMESTAMP
    end: Final = MAX_WATERMARK

    @staticmethod
    def get() -> GlobalWindow:
        return GLOBAL_WINDOW

    def max_timestamp(self) -> int:
        """The end of event time: the window never closes before it."""
        return MAX_WATERMARK

    def java_hash(self) -> int:
        """Java's hash code."""
        return 0

    def __eq__(self, other: object) -> bool:
        return type(other) is GlobalWindow

    def __hash__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return "GlobalWindow"


GLOBAL_WINDOW: Final = GlobalWindow()
