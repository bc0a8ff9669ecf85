"""The watermark gauges of operator outputs while the stream is idle (rules 5.8, 13.8)."""

from __future__ import annotations

import pytest

from flowsim.operators.stream_operator import StreamOperator
from flowsim.streamrecord.elements import WatermarkStatus
from flowsim.tasks.operator_outputs import ChainingOutput, OperatorOutput, OutputEdge
from flowsim.units import NO_TIMESTAMP


class Noting(StreamOperator):
    """Notes watermarks and statuses."""

    def __init__(self) -> None:
        self.seen: list[object] = []

    def process_element(self, value: object, timestamp: int | None) -> None:
        self.seen.append(value)

    def process_watermark(self, timestamp: int) -> None:
        self.seen.append(timestamp)

    def process_watermark_status(self, status: WatermarkStatus) -> None:
        self.seen.append(status)


@pytest.mark.parametrize(("consumers", "while_idle"), [(1, 5), (2, 9)])
def test_watermark_gauge_while_idle_depends_on_number_of_consumers(consumers: int, while_idle: int) -> None:
    """In Flink one output has the gauge itself, several share one that comes before them."""
    operators = [Noting() for _ in range(consumers)]
    edges = [OutputEdge(None, ChainingOutput(operator, "noting")) for operator in operators]
    output = OperatorOutput(edges, lambda count: 0)
    assert output.current_watermark == NO_TIMESTAMP
    output.emit_watermark(5)
    output.emit_watermark_status(WatermarkStatus.IDLE)
    output.emit_watermark(9)
    assert output.current_watermark == while_idle
    output.emit_watermark_status(WatermarkStatus.ACTIVE)
    output.emit_watermark(12)
    assert output.current_watermark == 12
    expected = [5, WatermarkStatus.IDLE, WatermarkStatus.ACTIVE, 12]
    assert [operator.seen for operator in operators] == [expected] * consumers
