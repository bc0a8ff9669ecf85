"""Strategies for timestamps and watermarks. Flink: WatermarkStrategy, WatermarkAlignmentParams."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from flowsim.streamrecord.elements import OutputTag
from flowsim.units import MAX_WATERMARK
from flowsim.watermark.generators import (
    AscendingTimestampsWatermarks,
    BoundedOutOfOrdernessWatermarks,
    NoWatermarks,
    PerRecordBoundedWatermarks,
    PunctuatedWatermark,
    PunctuatedWatermarks,
    WatermarkGenerator,
)
from flowsim.watermark.idleness import WatermarksWithIdleness
from flowsim.watermark.user_generator import AnyGenerator, watched

DEFAULT_UPDATE_INTERVAL_MS: Final = 1000


@dataclass(frozen=True, slots=True)
class WatermarkAlignmentParams:
    """The alignment of the sources of one ``watermark_group``: they stay within the drift of the slowest source.

    Flink: WatermarkAlignmentParams.

    Raises ValueError for a negative drift or an interval below 1 ms.
    """

    watermark_group: str
    max_allowed_watermark_drift_ms: int
    update_interval_ms: int = DEFAULT_UPDATE_INTERVAL_MS
    """The interval in ms at which sources report and receive the limit."""

    def __post_init__(self) -> None:
        if self.max_allowed_watermark_drift_ms < 0:
            raise ValueError(f"the allowed drift must be 0 ms or more, got {self.max_allowed_watermark_drift_ms}")
        if self.update_interval_ms < 1:
            raise ValueError(f"the update interval must be 1 ms or more, got {self.update_interval_ms}")

    def limit_above(self, watermark: int) -> int:
        """Returns the limit in ms if the slowest source has ``watermark``; at most the maximum."""
        return min(watermark + self.max_allowed_watermark_drift_ms, MAX_WATERMARK)


TimestampExtractor = Callable[[object, int], object]
"""A function ``(value, record_timestamp) -> timestamp`` in ms; ``record_timestamp`` is ``NO_TIMESTAMP`` if there was
none."""

OnMissingTimestamp = Literal["fail", "drop"] | OutputTag
"""The treatment of a record without timestamp: the job fails, the record is dropped and counted, or the record goes to
a side output."""


@dataclass(frozen=True, slots=True)
class WatermarkStrategy:
    """The timestamps and watermarks of one stream; immutable, so it can be shared. Flink: WatermarkStrategy.

    >>> WatermarkStrategy.for_bounded_out_of_orderness(20).with_idleness(1000).idle_timeout_ms
    1000
    """

    generator_factory: Callable[[], WatermarkGenerator]
    """A function that is called for every output: once per subtask, and once per split of a source (rule 8.6)."""
    timestamp_extractor: TimestampExtractor | None = None
    """The function that assigns timestamps; None: records keep their timestamp."""
    idle_timeout_ms: int | None = None
    """The time in ms without records after which the stream is idle; None: never (rule 8.4)."""
    periodic: bool = True
    """False if periodic emission can have no effect; then there is no timer for it."""
    alignment: WatermarkAlignmentParams | None = None
    """The settings of alignment; None: the source is not aligned. Operators after a source never align."""
    on_missing_timestamp: OnMissingTimestamp = "fail"
    """The treatment of a record for which the extractor returns None."""
    described: Mapping[str, object] = field(default_factory=lambda: {"kind": "custom"})
    """The description of the generator in recordings: its kind and parameters."""

    @staticmethod
    def for_monotonous_timestamps() -> WatermarkStrategy:
        return WatermarkStrategy(
            AscendingTimestampsWatermarks, described={"kind": "monotonous", "bound_ms": 0, "per_record": False}
        )

    @staticmethod
    def for_bounded_out_of_orderness(max_out_of_orderness_ms: int) -> WatermarkStrategy:
        BoundedOutOfOrdernessWatermarks(max_out_of_orderness_ms)  # raises for a bad bound here, not in a running task
        return WatermarkStrategy(
            lambda: BoundedOutOfOrdernessWatermarks(max_out_of_orderness_ms),
            described={"kind": "bounded", "bound_ms": max_out_of_orderness_ms, "per_record": False},
        )

    @staticmethod
    def for_each_record(max_out_of_orderness_ms: int) -> WatermarkStrategy:
        """Emits the watermark of bounded out-of-orderness after every record."""
        PerRecordBoundedWatermarks(max_out_of_orderness_ms)
        return WatermarkStrategy(
            lambda: PerRecordBoundedWatermarks(max_out_of_orderness_ms),
            periodic=False,
            described={"kind": "bounded", "bound_ms": max_out_of_orderness_ms, "per_record": True},
        )

    @staticmethod
    def for_punctuated(watermark_of: PunctuatedWatermark) -> WatermarkStrategy:
        """Emits the watermark that a record contains, after the record (rule 8.3)."""
        return WatermarkStrategy(
            lambda: PunctuatedWatermarks(watermark_of), periodic=False, described={"kind": "punctuated"}
        )

    @staticmethod
    def for_generator(generator_factory: Callable[[], AnyGenerator]) -> WatermarkStrategy:
        """Uses a user-defined generator, created for every output.

        The generator is wrapped unless it reports whether more watermarks may follow.
        """
        return WatermarkStrategy(lambda: watched(generator_factory()))

    @staticmethod
    def no_watermarks() -> WatermarkStrategy:
        return WatermarkStrategy(NoWatermarks, periodic=False, described={"kind": "none"})

    def with_timestamp_assigner(self, extractor: TimestampExtractor) -> WatermarkStrategy:
        return replace(self, timestamp_extractor=extractor)

    def without_watermarks(self) -> WatermarkStrategy:
        """Returns this strategy with its timestamps only, as in BATCH mode."""
        return replace(
            WatermarkStrategy.no_watermarks(),
            timestamp_extractor=self.timestamp_extractor,
            on_missing_timestamp=self.on_missing_timestamp,
        )

    def with_idleness(self, idle_timeout_ms: int) -> WatermarkStrategy:
        """Returns this strategy with an idle timeout (rule 8.4). Raises ValueError unless the timeout is above 0 ms."""
        if idle_timeout_ms <= 0:
            raise ValueError(f"an idle timeout must be above 0 ms, got {idle_timeout_ms}")
        return replace(self, idle_timeout_ms=idle_timeout_ms, periodic=True)

    def with_watermark_alignment(self, params: WatermarkAlignmentParams) -> WatermarkStrategy:
        """Returns this strategy with alignment (rules 8.22-8.24); only sources use it."""
        return replace(self, alignment=params)

    def with_missing_timestamps(self, policy: OnMissingTimestamp) -> WatermarkStrategy:
        return replace(self, on_missing_timestamp=policy)

    @property
    def params(self) -> dict[str, object]:
        """The strategy in recordings: the generator, ``missing_timestamp`` (drop or output), ``idle_ms``, and ``group``,
        ``max_drift_ms`` and ``interval_ms``.
        """
        params = dict(self.described)
        if self.on_missing_timestamp != "fail":
            params["missing_timestamp"] = "drop" if self.on_missing_timestamp == "drop" else "output"
        if self.idle_timeout_ms is not None:
            params["idle_ms"] = self.idle_timeout_ms
        if self.alignment is not None:
            params["group"] = self.alignment.watermark_group
            params["max_drift_ms"] = self.alignment.max_allowed_watermark_drift_ms
            params["interval_ms"] = self.alignment.update_interval_ms
        return params

    def create_generator(
        self, clock_ns: Callable[[], int], stands_still: Callable[[], bool] = lambda: False
    ) -> WatermarkGenerator:
        """Creates the generator of one output; ``clock_ns`` is the relative clock for idleness."""
        generator = self.generator_factory()
        if self.idle_timeout_ms is None:
            return generator
        return WatermarksWithIdleness(generator, self.idle_timeout_ms, clock_ns, stands_still)
