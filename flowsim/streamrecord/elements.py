"""The contents of data buffers: records, watermarks, statuses and latency markers (rules 0.2, 0.3).

Records have no class: on hot paths a record is the pair ``(value, timestamp)`` of two arguments, timestamp in
milliseconds or None. Flink: StreamElement and its subclasses.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class WatermarkStatus(IntEnum):
    """The status of a channel: whether it takes part in event time. The numbers are Flink's. Flink: WatermarkStatus."""

    ACTIVE = 0
    IDLE = -1


@dataclass(frozen=True, slots=True)
class LatencyMarker:
    """A marker from a source that measures the latency to the sinks. Flink: LatencyMarker."""

    marked_time_ms: int
    operator_id: int
    subtask_index: int


@dataclass(frozen=True, slots=True)
class OutputTag:
    """Names a side output. Flink: OutputTag."""

    tag_id: str


@dataclass(frozen=True, slots=True)
class StreamRecord:
    """A stored record: in the queue of an async operator and in its snapshot. Flink: StreamRecord."""

    value: object
    timestamp: int | None
    """The timestamp in ms, or None."""


@dataclass(frozen=True, slots=True)
class Watermark:
    """A stored watermark; event time in ms. Flink: Watermark."""

    timestamp: int


StreamElement = StreamRecord | Watermark
