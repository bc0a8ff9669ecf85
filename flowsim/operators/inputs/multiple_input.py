"""Operators with several inputs, including user-defined ones. Flink: MultipleInputStreamOperator,
AbstractStreamOperatorV2.
"""

from __future__ import annotations

from flowsim.operators.input_selection import InputSelectable
from flowsim.operators.inputs.combined_input import ProcessElement, combined_inputs
from flowsim.operators.inputs.reading_order import ReadingOrder, recording_reads
from flowsim.operators.stream_operator import OperatorContext, OperatorInput, StreamOperator, Value
from flowsim.streamrecord.output import Output


class MultipleInputOperator(StreamOperator):
    """The base class of operators with several inputs and without a key.

    Flink: MultipleInputStreamOperator, TwoInputStreamOperator.

    A subclass processes records in ``process_element_of``. It may select the next inputs in ``next_selection``
    (InputSelectable), or use a ``ReadingOrder``. Input ids count from 1.
    """

    __slots__ = ("input_count", "_order", "_inputs")

    def __init__(self, input_count: int, order: ReadingOrder | None = None) -> None:
        self.input_count = input_count
        self._order = order
        self._inputs: tuple[OperatorInput, ...] = ()

    def setup(self, ctx: OperatorContext, output: Output) -> None:
        super().setup(ctx, output)
        methods = [self._process_input(input_id) for input_id in range(1, self.input_count + 1)]
        self._inputs = combined_inputs(self, methods if self._order is None else recording_reads(methods, self._order))

    def _process_input(self, input_id: int) -> ProcessElement:
        def process_element(value: Value, timestamp: int | None) -> None:
            self.clock.now_ns += self.cost_ns
            self.records_in += 1
            self.process_element_of(input_id, value, timestamp)

        return process_element

    def process_element_of(self, input_id: int, value: Value, timestamp: int | None) -> None:
        """Processes one user record of one input; the operator has already added the record's cost and counted it."""
        raise NotImplementedError

    @property
    def inputs(self) -> tuple[OperatorInput, ...]:
        return self._inputs

    @property
    def input_selectable(self) -> InputSelectable | None:
        return super().input_selectable if self._order is None else self._order

    def end_input_of(self, input_id: int) -> None:
        if self._order is not None:
            self._order.record_end(input_id)
