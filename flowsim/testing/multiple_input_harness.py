"""An operator with several inputs in a test, without a cluster. Flink: MultiInputStreamOperatorTestHarness."""

from __future__ import annotations

from collections.abc import Sequence

from flowsim.operators.stream_operator import KeySelector, StreamOperator, Value
from flowsim.streamrecord.elements import WatermarkStatus
from flowsim.testing.harness import OneInputOperatorHarness
from flowsim.units import MAX_WATERMARK


class MultipleInputOperatorHarness(OneInputOperatorHarness):
    """As the harness for one input; each door has the id of an input, from 1. Flink: MultiInputStreamOperatorTestHarness."""

    def __init__(
        self, operator: StreamOperator, *, key_selectors: Sequence[KeySelector] = (), key_type: str | None = None
    ) -> None:
        """``key_selectors``: one per input, for an operator that needs keys."""
        first = key_selectors[0] if key_selectors else None
        super().__init__(operator, key_selector=first, key_type=key_type, key_selectors=tuple(key_selectors))

    def element(self, input_id: int, value: Value, timestamp: int | None = None) -> None:
        """A user record."""
        self.operator.inputs[input_id - 1].process_element(value, timestamp)

    def watermark(self, input_id: int, timestamp: int) -> None:
        """What the valve of the input emitted."""
        self.operator.inputs[input_id - 1].process_watermark(timestamp)

    def status(self, input_id: int, status: WatermarkStatus) -> None:
        """The same, a status."""
        self.operator.inputs[input_id - 1].process_watermark_status(status)

    def end_of_input(self) -> None:
        """What a drained task does at its end: each input's last watermark and end, then ``finish`` (rule 7.27)."""
        for index, each in enumerate(self.operator.inputs):
            each.process_watermark(MAX_WATERMARK)
            self.operator.end_input_of(index + 1)
        self.operator.finish()
