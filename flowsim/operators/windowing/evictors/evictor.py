"""What takes records out of a window that fires. Flink: Evictor, TimestampedValue (rules 10.30, 10.31)."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from flowsim.operators.stream_operator import Value
from flowsim.operators.windowing.window import Window


class TimestampedValue(NamedTuple):
    """A record in the contents of a window; timestamp in ms, None where it has none. Flink: TimestampedValue."""

    value: Value
    timestamp: int | None


class EvictorContext(Protocol):
    """What an evictor may ask; times in ms. Flink: Evictor.EvictorContext."""

    def get_current_processing_time(self) -> int: ...

    def get_current_watermark(self) -> int: ...


class Evictor(Protocol):
    """Removes records from ``elements``, in place; what is removed is gone for later firings too. Flink: Evictor.

    ``size`` is how many there are before.
    """

    def evict_before(self, elements: list[TimestampedValue], size: int, window: Window, ctx: EvictorContext, /) -> None:
        """Before the window function sees them."""

    def evict_after(self, elements: list[TimestampedValue], size: int, window: Window, ctx: EvictorContext, /) -> None:
        """After the window function saw them."""
