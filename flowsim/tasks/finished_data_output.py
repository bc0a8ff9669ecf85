"""What is left of a task input after its data has ended. Flink: FinishedDataOutput (rule 4.11)."""

from __future__ import annotations

from flowsim.operators.stream_operator import Value
from flowsim.streamrecord.elements import LatencyMarker, WatermarkStatus


class FinishedDataOutput:
    """Forgets all that still comes: the operator was told that its input has ended. Flink: FinishedDataOutput."""

    __slots__ = ()

    def process_element(self, value: Value, timestamp: int | None) -> None:
        """Lost, as in Flink."""

    def process_watermark(self, timestamp: int) -> None:
        """Lost, as in Flink."""

    def process_watermark_status(self, status: WatermarkStatus) -> None:
        """Lost, as in Flink."""

    def process_latency_marker(self, marker: LatencyMarker) -> None:
        """Lost, as in Flink."""
