"""What a user says about a stream's event time. Flink: WatermarkStrategy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from flowsim.watermark.generators import (
    AscendingTimestampsWatermarks,
    BoundedOutOfOrdernessWatermarks,
    NoWatermarks,
    PerRecordBoundedWatermarks,
    WatermarkGenerator,
    WatermarksWithIdleness,
)

TimestampExtractor = Callable[[object, int], int]
"""``(value, record_timestamp) -> timestamp`` in ms; ``record_timestamp`` is ``NO_TIMESTAMP`` where there was none."""


@dataclass(frozen=True, slots=True)
class WatermarkStrategy:
    """How timestamps and watermarks of one stream come about; immutable, so it can be shared. Flink: WatermarkStrategy.

    >>> WatermarkStrategy.for_bounded_out_of_orderness(20).with_idleness(1000).idle_timeout_ms
    1000
    """

    generator_factory: Callable[[], WatermarkGenerator]
    """Called once per subtask."""
    timestamp_extractor: TimestampExtractor | None = None
    """None: records keep the timestamp they have."""
    idle_timeout_ms: int | None = None
    """None: the stream is never declared idle (rule 8.4)."""
    periodic: bool = True
    """False where periodic emission can have no effect: no timer is needed for it."""

    @staticmethod
    def for_monotonous_timestamps() -> WatermarkStrategy:
        return WatermarkStrategy(AscendingTimestampsWatermarks)

    @staticmethod
    def for_bounded_out_of_orderness(max_out_of_orderness_ms: int) -> WatermarkStrategy:
        BoundedOutOfOrdernessWatermarks(max_out_of_orderness_ms)  # refuses a bad bound here and not in a running task
        return WatermarkStrategy(lambda: BoundedOutOfOrdernessWatermarks(max_out_of_orderness_ms))

    @staticmethod
    def for_each_record(max_out_of_orderness_ms: int) -> WatermarkStrategy:
        """Like bounded out-of-orderness, but the watermark is emitted after every record."""
        PerRecordBoundedWatermarks(max_out_of_orderness_ms)
        return WatermarkStrategy(lambda: PerRecordBoundedWatermarks(max_out_of_orderness_ms), periodic=False)

    @staticmethod
    def no_watermarks() -> WatermarkStrategy:
        return WatermarkStrategy(NoWatermarks, periodic=False)

    def with_timestamp_assigner(self, extractor: TimestampExtractor) -> WatermarkStrategy:
        return replace(self, timestamp_extractor=extractor)

    def with_idleness(self, idle_timeout_ms: int) -> WatermarkStrategy:
        """Rule 8.4; raises ValueError unless the timeout is above 0 ms."""
        if idle_timeout_ms <= 0:
            raise ValueError(f"an idle timeout must be above 0 ms, got {idle_timeout_ms}")
        return replace(self, idle_timeout_ms=idle_timeout_ms, periodic=True)

    def create_generator(
        self, clock_ns: Callable[[], int], stands_still: Callable[[], bool] = lambda: False
    ) -> WatermarkGenerator:
        """The generator of one subtask; ``clock_ns`` is the relative clock that idleness is measured on."""
        generator = self.generator_factory()
        if self.idle_timeout_ms is None:
            return generator
        return WatermarksWithIdleness(generator, self.idle_timeout_ms, clock_ns, stands_still)
