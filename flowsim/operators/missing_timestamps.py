"""Records for which the timestamp assigner returns None: the job fails, or they leave the main output."""

from __future__ import annotations

from collections.abc import Callable

from flowsim.errors import MissingTimestamp
from flowsim.operators.null_fields import named, null_fields
from flowsim.operators.stream_operator import Value, checked_timestamp
from flowsim.streamrecord.elements import OutputTag
from flowsim.streamrecord.output import Output
from flowsim.units import NO_TIMESTAMP
from flowsim.watermark.watermark_strategy import WatermarkStrategy


class MissingTimestamps:
    """What one strategy does with such records. Flink fails; ``drop`` and side outputs are flowsim's own."""

    __slots__ = ("records", "_policy", "_extract", "_collect_side", "_assigner")

    def __init__(self, strategy: WatermarkStrategy, output: Output, operator_name: str) -> None:
        self.records = 0
        """Records that left the main output."""
        self._policy = strategy.on_missing_timestamp
        self._extract: Callable[..., object] | None = strategy.timestamp_extractor
        self._collect_side = output.collect_side
        self._assigner = f"{operator_name}: timestamp assigner"

    def handle(self, value: Value, timestamp: object, previous: int) -> None:
        """A record with a timestamp that is no timestamp; raises BadInput unless it is None and may be missing."""
        if timestamp is not None:
            checked_timestamp(timestamp, self._assigner)
        if self._policy == "fail":
            fields = null_fields(self._extract, value)
            raise MissingTimestamp(
                f"{self._assigner}: the record has no timestamp" + (f": {named(fields)}" if fields else "")
            )
        self.records += 1
        if isinstance(self._policy, OutputTag):
            self._collect_side(self._policy, value, None if previous == NO_TIMESTAMP else previous)
