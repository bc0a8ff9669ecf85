"""The inputs of an operator with several inputs. Flink: AbstractInput, AbstractStreamOperatorV2 (rule 8.16)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flowsim.operators.stream_operator import OperatorInput, StreamOperator, Value
from flowsim.streamrecord.elements import LatencyMarker, WatermarkStatus
from flowsim.watermark.combined_watermark_status import IndexedCombinedWatermarkStatus

ProcessElement = Callable[[Value, int | None], None]


class CombinedInput(OperatorInput):
    """One of several inputs: passes records on, and combines its event time with that of the other inputs.

    Flink: AbstractInput.
    """

    __slots__ = ("_process_element", "_operator", "_index", "_combined")

    def __init__(
        self,
        operator: StreamOperator,
        index: int,
        process_element: ProcessElement,
        combined: IndexedCombinedWatermarkStatus,
    ) -> None:
        self._process_element = process_element
        self._operator = operator
        self._index = index
        self._combined = combined

    def process_element(self, value: Value, timestamp: int | None) -> None:
        self._process_element(value, timestamp)

    def process_watermark(self, timestamp: int) -> None:
        """Passes a watermark to the operator if the combined watermark increased."""
        combined = self._combined
        if combined.update_watermark(self._index, timestamp):
            self._operator.process_watermark(combined.combined_watermark)

    def process_watermark_status(self, status: WatermarkStatus) -> None:
        """Emits first a watermark that this input held back, then the status if the combined status changed."""
        combined = self._combined
        was_idle = combined.idle
        if combined.update_status(self._index, status is WatermarkStatus.IDLE):
            self._operator.process_watermark(combined.combined_watermark)
        if combined.idle is not was_idle:
            self._operator.process_watermark_status(status)

    def process_latency_marker(self, marker: LatencyMarker) -> None:
        self._operator.process_latency_marker(marker)


def combined_inputs(operator: StreamOperator, methods: Sequence[ProcessElement]) -> tuple[CombinedInput, ...]:
    """Returns one input per process method; at first all inputs are active and have no watermark."""
    combined = IndexedCombinedWatermarkStatus(len(methods))
    return tuple([CombinedInput(operator, index, method, combined) for index, method in enumerate(methods)])
