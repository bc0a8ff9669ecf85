"""Latencies of latency markers at an operator. Flink: LatencyStats (rule 8.20)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from flowsim.streamrecord.elements import LatencyMarker


@dataclass(slots=True)
class Latency:
    """The latencies in ms of one source's markers. ``count`` >= 1."""

    count: int
    total_ms: int
    min_ms: int
    max_ms: int

    @property
    def mean_ms(self) -> Fraction:
        return Fraction(self.total_ms, self.count)


class LatencyStats:
    """The latencies at one operator subtask, per source operator: the default granularity (rule 8.21).

    ``by_source`` has the latencies by the job vertex of the source, in the order of the first markers. Flink:
    LatencyStats.
    """

    __slots__ = ("by_source",)

    def __init__(self) -> None:
        self.by_source: dict[int, Latency] = {}

    def report_latency(self, marker: LatencyMarker, now_ms: int) -> int:
        """Counts a marker that arrives at ``now_ms`` and returns the marker's latency in ms."""
        took_ms = now_ms - marker.marked_time_ms
        latency = self.by_source.get(marker.operator_id)
        if latency is None:
            self.by_source[marker.operator_id] = Latency(1, took_ms, took_ms, took_ms)
        else:
            latency.count += 1
            latency.total_ms += took_ms
            latency.min_ms = min(latency.min_ms, took_ms)
            latency.max_ms = max(latency.max_ms, took_ms)
        return took_ms
