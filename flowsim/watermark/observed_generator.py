"""A generator whose work is recorded: what it has seen when it speaks."""

from __future__ import annotations

from collections.abc import Callable

from flowsim.units import NO_TIMESTAMP
from flowsim.watermark.generators import WatermarkGenerator, WatermarkOutput


class ObservedGenerator(WatermarkGenerator):
    """Counts the records and keeps the highest timestamp that a generator was given; used only while facts are recorded."""

    __slots__ = ("on_event", "seen", "_inner")

    on_event: Callable[[object, int, WatermarkOutput], None]  # type: ignore[assignment]  # set per instance
    """A closure, since it is called for every record."""
    seen: Callable[[], tuple[int, int]]
    """How many records there were, and their highest timestamp in ms."""

    def __init__(self, inner: WatermarkGenerator) -> None:
        self._inner = inner
        self.on_event, self.seen = _observing(inner.on_event)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        self._inner.on_periodic_emit(output)

    def has_pending_effect(self, emitted: int) -> bool:
        return self._inner.has_pending_effect(emitted)


def _observing(
    on_event: Callable[[object, int, WatermarkOutput], None],
) -> tuple[Callable[[object, int, WatermarkOutput], None], Callable[[], tuple[int, int]]]:
    records, max_timestamp = 0, NO_TIMESTAMP

    def observe(value: object, timestamp: int, output: WatermarkOutput) -> None:
        nonlocal records, max_timestamp
        records += 1
        if timestamp > max_timestamp:
            max_timestamp = timestamp
        on_event(value, timestamp, output)

    return observe, lambda: (records, max_timestamp)
