"""Watermark generators. Flink: WatermarkGenerator and its kinds (rules 8.1-8.5)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from mypy_extensions import mypyc_attr

from flowsim.errors import BadInput
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP
from flowsim.watermark.watermark_output import WatermarkOutput


def checked_watermark(watermark: object, what: str) -> int:
    """Returns ``watermark`` if it is a 64-bit integer (ms); otherwise raises BadInput naming ``what``."""
    if type(watermark) is int and NO_TIMESTAMP <= watermark <= MAX_WATERMARK:
        return watermark
    raise BadInput(f"{what}: expected whole milliseconds of 64 bits, got {watermark!r:.60}")


@mypyc_attr(allow_interpreted_subclasses=True)
class WatermarkGenerator(ABC):
    """Emits watermarks at each event or periodically. Flink: WatermarkGenerator."""

    __slots__ = ()

    @abstractmethod
    def on_event(self, value: object, timestamp: int, output: WatermarkOutput) -> None:
        """Called after the record was emitted, so that a watermark of this call follows the record (rule 8.3)."""

    @abstractmethod
    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Called every ``pipeline.auto-watermark-interval`` (rule 8.2)."""

    @abstractmethod
    def has_pending_effect(self, emitted: int) -> bool:
        """Returns True if a later periodic call would have an effect without another event (D4).

        ``emitted`` is the highest emitted watermark. While this is true the run is not quiescent.
        """


class BoundedOutOfOrdernessWatermarks(WatermarkGenerator):
    """Emits periodically the highest timestamp so far, minus the bound, minus 1 ms.

    Flink: BoundedOutOfOrdernessWatermarks (rule 8.1).
    """

    __slots__ = ("_delay_ms", "_max_timestamp")

    def __init__(self, max_out_of_orderness_ms: int) -> None:
        if max_out_of_orderness_ms < 0:
            raise ValueError(f"the bound on out-of-orderness must be 0 ms or more, got {max_out_of_orderness_ms}")
        self._delay_ms = max_out_of_orderness_ms + 1
        self._max_timestamp = NO_TIMESTAMP + self._delay_ms

    def on_event(self, value: object, timestamp: int, output: WatermarkOutput) -> None:
        if timestamp > self._max_timestamp:
            self._max_timestamp = timestamp

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        output.emit_watermark(self._max_timestamp - self._delay_ms)

    def has_pending_effect(self, emitted: int) -> bool:
        return self._max_timestamp - self._delay_ms > emitted


class AscendingTimestampsWatermarks(BoundedOutOfOrdernessWatermarks):
    """Emits periodically, for timestamps that never decrease. Flink: AscendingTimestampsWatermarks (rule 8.1)."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(0)


class PerRecordBoundedWatermarks(BoundedOutOfOrdernessWatermarks):
    """Emits the bounded watermark after every record instead of periodically (rule 8.3)."""

    __slots__ = ()

    def __init__(self, max_out_of_orderness_ms: int) -> None:
        super().__init__(max_out_of_orderness_ms)

    def on_event(self, value: object, timestamp: int, output: WatermarkOutput) -> None:
        if timestamp > self._max_timestamp:
            self._max_timestamp = timestamp
        output.emit_watermark(self._max_timestamp - self._delay_ms)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Does nothing: each event emitted its watermark."""

    def has_pending_effect(self, emitted: int) -> bool:
        return False


PunctuatedWatermark = Callable[[object, int], object]
"""A function ``(value, timestamp) -> watermark`` in ms, or None; what it returns is checked."""


class PunctuatedWatermarks(WatermarkGenerator):
    """Emits the watermark that a record contains, if there is one (rule 8.3)."""

    __slots__ = ("_watermark_of",)

    def __init__(self, watermark_of: PunctuatedWatermark) -> None:
        self._watermark_of = watermark_of

    def on_event(self, value: object, timestamp: int, output: WatermarkOutput) -> None:
        watermark = self._watermark_of(value, timestamp)
        if watermark is not None:
            output.emit_watermark(checked_watermark(watermark, "a punctuated watermark"))

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Does nothing: only records have watermarks."""

    def has_pending_effect(self, emitted: int) -> bool:
        return False


class NoWatermarks(WatermarkGenerator):
    """Never emits a watermark: the stream has no event time. Flink: NoWatermarksGenerator."""

    __slots__ = ()

    def on_event(self, value: object, timestamp: int, output: WatermarkOutput) -> None:
        """Does nothing."""

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Does nothing."""

    def has_pending_effect(self, emitted: int) -> bool:
        return False
