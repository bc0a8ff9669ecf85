"""Event time as PyFlink spells it. Flink: WatermarkStrategy, TimestampAssigner."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace

from flowsim.datastream.common.time import Duration, Time, millis_of
from flowsim.datastream.isolation import isolated
from flowsim.watermark import watermark_strategy as runtime
from flowsim.watermark.generators import NoWatermarks, WatermarkGenerator


class TimestampAssigner(ABC):
    """Reads the event time of a record. PyFlink: TimestampAssigner."""

    @abstractmethod
    def extract_timestamp(self, value: object, record_timestamp: int) -> int:
        """Event time in ms; ``record_timestamp`` is the one the record has, ``NO_TIMESTAMP`` (-2**63) for none."""


@dataclass(frozen=True, slots=True)
class WatermarkStrategy:
    """How the timestamps and watermarks of a stream come about; immutable. PyFlink: WatermarkStrategy.

    ``for_each_record`` and ``for_generator`` are flowsim's own: PyFlink has no spelling for them, Java has.
    """

    runtime_strategy: runtime.WatermarkStrategy
    timestamp_assigner: TimestampAssigner | Callable[[object, int], int] | None = None

    @staticmethod
    def for_monotonous_timestamps() -> WatermarkStrategy:
        """Watermarks for timestamps that never go back (rule 8.1)."""
        return WatermarkStrategy(runtime.WatermarkStrategy.for_monotonous_timestamps())

    @staticmethod
    def for_bounded_out_of_orderness(max_out_of_orderness: Duration | Time) -> WatermarkStrategy:
        """Periodically the highest timestamp so far, minus the bound, minus 1 ms (rule 8.1)."""
        bound_ms = millis_of(max_out_of_orderness, "for_bounded_out_of_orderness")
        return WatermarkStrategy(runtime.WatermarkStrategy.for_bounded_out_of_orderness(bound_ms))

    @staticmethod
    def for_each_record(max_out_of_orderness: Duration | Time) -> WatermarkStrategy:
        """flowsim's own: the bounded watermark after every record instead of periodically (rule 8.3)."""
        bound_ms = millis_of(max_out_of_orderness, "for_each_record")
        return WatermarkStrategy(runtime.WatermarkStrategy.for_each_record(bound_ms))

    @staticmethod
    def for_generator(generator_factory: Callable[[], WatermarkGenerator]) -> WatermarkStrategy:
        """flowsim's own: a generator of the caller's, made once per subtask. Flink: WatermarkStrategy.forGenerator."""
        return WatermarkStrategy(runtime.WatermarkStrategy(generator_factory))

    @staticmethod
    def no_watermarks() -> WatermarkStrategy:
        """A stream without event time."""
        return WatermarkStrategy(runtime.WatermarkStrategy.no_watermarks())

    def with_timestamp_assigner(
        self, timestamp_assigner: TimestampAssigner | Callable[[object, int], int]
    ) -> WatermarkStrategy:
        """The same with timestamps read by an assigner, or by a function of the same two arguments."""
        if not isinstance(timestamp_assigner, TimestampAssigner) and not callable(timestamp_assigner):
            raise TypeError(f"with_timestamp_assigner: expected a TimestampAssigner, got {timestamp_assigner!r}")
        return replace(self, timestamp_assigner=timestamp_assigner)

    def with_idleness(self, idle_timeout: Duration | Time) -> WatermarkStrategy:
        """The same, declared idle after this long without records (rule 8.4)."""
        timeout_ms = millis_of(idle_timeout, "with_idleness")
        return replace(self, runtime_strategy=self.runtime_strategy.with_idleness(timeout_ms))

    @property
    def makes_no_watermarks(self) -> bool:
        """Whether it is ``no_watermarks()`` as it came: no assigner, no idleness."""
        generator = self.runtime_strategy.generator_factory
        return (
            generator is NoWatermarks
            and self.timestamp_assigner is None
            and self.runtime_strategy.idle_timeout_ms is None
        )

    def for_subtask(self, operator: str) -> runtime.WatermarkStrategy:
        """What one subtask runs, with an assigner of its own."""
        if self.timestamp_assigner is None:
            return self.runtime_strategy
        assigner = isolated(self.timestamp_assigner, operator)
        extract = assigner.extract_timestamp if isinstance(assigner, TimestampAssigner) else assigner
        return self.runtime_strategy.with_timestamp_assigner(extract)
