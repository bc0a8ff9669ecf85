"""Event time with PyFlink's names. Flink: WatermarkStrategy, TimestampAssigner."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from flowsim.datastream.functions.function import isolated
from flowsim.datastream.output_tag import OutputTag
from flowsim.errors import BadInput
from flowsim.values.durations import Duration, Time, millis_of
from flowsim.watermark import watermark_strategy as runtime
from flowsim.watermark.generators import NoWatermarks
from flowsim.watermark.user_generator import AnyGenerator
from flowsim.watermark.watermark_output import WatermarkOutput
from flowsim.watermark.watermark_strategy import DEFAULT_UPDATE_INTERVAL_MS, WatermarkAlignmentParams

__all__ = ["TimestampAssigner", "WatermarkGenerator", "WatermarkOutput", "WatermarkStrategy"]


class TimestampAssigner(ABC):
    """Reads the event time of a record. PyFlink: TimestampAssigner."""

    @abstractmethod
    def extract_timestamp(self, value: object, record_timestamp: int) -> int:
        """Returns the event time in ms.

        ``record_timestamp`` is the record's current timestamp, or ``NO_TIMESTAMP`` (-2**63).
        """


class WatermarkGenerator(ABC):
    """Generates the watermarks of one output: of a subtask, or of one split of a source.

    flowsim's own: Java has this class, PyFlink does not.

    ``output.emit_watermark(ms)`` emits a watermark; watermarks that do not increase are dropped (rule 8.5). Flink:
    WatermarkGenerator.
    """

    @abstractmethod
    def on_event(self, event: object, event_timestamp: int, output: WatermarkOutput) -> None:
        """Called after each record is emitted; a watermark that the method emits follows the record (rule 8.3)."""

    @abstractmethod
    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Called every ``pipeline.auto-watermark-interval``, 200 ms unless set (rule 8.2)."""


@dataclass(frozen=True, slots=True)
class WatermarkStrategy:
    """Assigns timestamps to a stream and generates its watermarks; immutable. PyFlink: WatermarkStrategy.

    ``for_each_record``, ``for_punctuated`` and ``for_generator`` are flowsim's own: Java has them, PyFlink does not.
    """

    runtime_strategy: runtime.WatermarkStrategy
    timestamp_assigner: TimestampAssigner | Callable[[object, int], int] | None = None

    @staticmethod
    def for_monotonous_timestamps() -> WatermarkStrategy:
        """Creates watermarks for timestamps that never decrease (rule 8.1)."""
        return WatermarkStrategy(runtime.WatermarkStrategy.for_monotonous_timestamps())

    @staticmethod
    def for_bounded_out_of_orderness(max_out_of_orderness: Duration | Time) -> WatermarkStrategy:
        """Creates periodic watermarks: the highest timestamp so far minus the bound minus 1 ms (rule 8.1)."""
        bound_ms = millis_of(max_out_of_orderness, "for_bounded_out_of_orderness")
        return WatermarkStrategy(runtime.WatermarkStrategy.for_bounded_out_of_orderness(bound_ms))

    @staticmethod
    def for_each_record(max_out_of_orderness: Duration | Time) -> WatermarkStrategy:
        """flowsim's own: creates the bounded watermark after every record instead of periodically (rule 8.3)."""
        bound_ms = millis_of(max_out_of_orderness, "for_each_record")
        return WatermarkStrategy(runtime.WatermarkStrategy.for_each_record(bound_ms))

    @staticmethod
    def for_generator(generator_factory: Callable[[], AnyGenerator]) -> WatermarkStrategy:
        """flowsim's own: creates a user-defined WatermarkGenerator for every subtask and every split of a source.

        A class can be the factory. Flink: WatermarkStrategy.forGenerator.
        """
        if not callable(generator_factory):
            raise TypeError(
                f"for_generator: expected a WatermarkGenerator class or a factory, got {generator_factory!r}"
            )
        return WatermarkStrategy(runtime.WatermarkStrategy.for_generator(generator_factory))

    @staticmethod
    def for_punctuated(watermark_of: Callable[[object, int], int | None]) -> WatermarkStrategy:
        """flowsim's own: calls a function of each record and its timestamp.

        The function returns the watermark that follows the record, or None.

        Flink: a WatermarkGenerator that emits in onEvent (rule 8.3).
        """
        if not callable(watermark_of):
            raise TypeError(f"for_punctuated: expected a function of a record and its timestamp, got {watermark_of!r}")
        return WatermarkStrategy(runtime.WatermarkStrategy.for_punctuated(watermark_of))

    @staticmethod
    def no_watermarks() -> WatermarkStrategy:
        """Creates no watermarks: the stream has no event time."""
        return WatermarkStrategy(runtime.WatermarkStrategy.no_watermarks())

    def with_timestamp_assigner(
        self, timestamp_assigner: TimestampAssigner | Callable[[object, int], int]
    ) -> WatermarkStrategy:
        """Returns this strategy with timestamps from an assigner, or from a function with the same two arguments."""
        if not isinstance(timestamp_assigner, TimestampAssigner) and not callable(timestamp_assigner):
            raise TypeError(f"with_timestamp_assigner: expected a TimestampAssigner, got {timestamp_assigner!r}")
        return replace(self, timestamp_assigner=timestamp_assigner)

    def with_missing_timestamps(self, policy: Literal["fail", "drop"] | OutputTag) -> WatermarkStrategy:
        """flowsim's own: what happens to a record for which the timestamp assigner returns None.

        ``fail`` (the default, as in Flink): the job fails. ``drop``: the record is dropped and counted. A tag: the record
        goes to that side output, without a new timestamp. Such records neither advance the watermark nor end idleness.
        """
        if policy not in ("fail", "drop") and not isinstance(policy, OutputTag):
            raise BadInput(f"with_missing_timestamps: expected 'fail', 'drop' or an OutputTag, got {policy!r}")
        return replace(self, runtime_strategy=self.runtime_strategy.with_missing_timestamps(policy))

    def with_idleness(self, idle_timeout: Duration | Time) -> WatermarkStrategy:
        """Returns this strategy with idleness: an output without records for this time becomes idle (rule 8.4)."""
        timeout_ms = millis_of(idle_timeout, "with_idleness")
        return replace(self, runtime_strategy=self.runtime_strategy.with_idleness(timeout_ms))

    def with_watermark_alignment(
        self,
        watermark_group: str,
        max_allowed_watermark_drift: Duration | Time,
        update_interval: Duration | Time | None = None,
    ) -> WatermarkStrategy:
        """Returns this strategy with alignment of a group of sources.

        A source pauses while it is too far ahead of the slowest source of the group (rules 8.22-8.24).

        ``update_interval`` (1 s by default) is the time between reports of the sources, and between updates of the
        limit. As in Flink, alignment has no effect in ``assign_timestamps_and_watermarks``, after a source.
        """
        drift_ms = millis_of(max_allowed_watermark_drift, "with_watermark_alignment")
        interval_ms = DEFAULT_UPDATE_INTERVAL_MS
        if update_interval is not None:
            interval_ms = millis_of(update_interval, "with_watermark_alignment")
        try:
            params = WatermarkAlignmentParams(watermark_group, drift_ms, interval_ms)
        except ValueError as wrong:
            raise BadInput(f"with_watermark_alignment: {wrong}") from None
        return replace(self, runtime_strategy=self.runtime_strategy.with_watermark_alignment(params))

    @property
    def params(self) -> Mapping[str, object]:
        """The strategy as recordings and laws see it: column ``watermarks`` of table ``operators``."""
        return self.runtime_strategy.params

    @property
    def makes_no_watermarks(self) -> bool:
        """True if this is the unchanged ``no_watermarks()``: no assigner, no idleness, no alignment."""
        generator = self.runtime_strategy.generator_factory
        return (
            generator is NoWatermarks
            and self.timestamp_assigner is None
            and self.runtime_strategy.idle_timeout_ms is None
            and self.runtime_strategy.alignment is None
        )

    def for_subtask(self, operator: str) -> runtime.WatermarkStrategy:
        """Returns the strategy of one subtask, with a separate copy of the assigner."""
        if self.timestamp_assigner is None:
            return self.runtime_strategy
        assigner = isolated(self.timestamp_assigner, operator)
        extract = assigner.extract_timestamp if isinstance(assigner, TimestampAssigner) else assigner
        return self.runtime_strategy.with_timestamp_assigner(extract)
