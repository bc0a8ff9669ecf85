"""The inputs of a task that reads keyed inputs sorted. Flink: MultiInputSortingDataInput.SelectableSortingInputs."""

from __future__ import annotations

from collections.abc import Sequence

from flowsim.facts.tracer import TaskTrace
from flowsim.graph.stream_graph import BatchInputs
from flowsim.operators.input_selection import InputSelection
from flowsim.tasks.inputs.multiple_input_processor import StreamMultipleInputProcessor
from flowsim.tasks.inputs.network_input import (
    CanEmitBatchOfRecordsChecker,
    StreamTaskNetworkInput,
    StreamTaskNetworkOutput,
)
from flowsim.tasks.inputs.sorting_input import SortedHeads, SortingInput, SortingPhaseOutput
from flowsim.tasks.inputs.task_input import ReadInput, TaskInput
from flowsim.tasks.operator_chain import OperatorChain


class SortedInputSelector:
    """Selects the inputs that pass through first, then the one with the next record. Flink: InputSelector."""

    __slots__ = ("_read_first", "_heads")

    def __init__(self, read_first: Sequence[int], heads: SortedHeads) -> None:
        self._read_first = list(read_first)
        self._heads = heads

    def end_input(self, input_id: int) -> None:
        """An input, counted from 1, ended."""
        if input_id - 1 in self._read_first:
            self._read_first.remove(input_id - 1)

    def next_selection(self) -> InputSelection:
        if self._read_first:
            return InputSelection.of(self._read_first[0] + 1)
        following = self._heads.next_input
        return InputSelection.ALL if following is None else InputSelection.of(following + 1)


class SortedInputs:
    """Creates the inputs of one task: ``reads`` has what the network inputs emit to, ``of`` puts the sort behind them."""

    __slots__ = ("reads", "_batch", "_chain", "_outputs", "_can_emit_batch", "_phases", "_heads")

    def __init__(
        self,
        batch: BatchInputs,
        key_type: str | None,
        chain: OperatorChain,
        outputs: Sequence[StreamTaskNetworkOutput],
        can_emit_batch: CanEmitBatchOfRecordsChecker,
        trace: TaskTrace | None,
    ) -> None:
        name = chain.wrappers[0].name
        self._batch = batch
        self._chain = chain
        self._outputs = outputs
        self._can_emit_batch = can_emit_batch
        self._phases = [
            None if selector is None else SortingPhaseOutput(selector, key_type) for selector in batch.key_selectors
        ]
        self._heads = SortedHeads(sum(phase is not None for phase in self._phases), chain.head, name)
        self.reads = [
            output if phase is None else StreamTaskNetworkOutput(phase, name, index, trace)
            for index, (phase, output) in enumerate(zip(self._phases, outputs, strict=True))
        ]

    def of(self, networks: Sequence[StreamTaskNetworkInput]) -> TaskInput:
        """Returns the input of the task."""
        inputs: list[ReadInput] = []
        for index, (network, phase) in enumerate(zip(networks, self._phases, strict=True)):
            if phase is None:
                inputs.append(network)
                continue
            sorting = SortingInput(network, phase, self._outputs[index], index, self._heads, self._can_emit_batch)
            if len(networks) == 1:
                return sorting
            inputs.append(sorting)
        selector = SortedInputSelector(self._batch.read_first, self._heads)

        def end_input(input_id: int) -> None:
            selector.end_input(input_id)
            self._chain.end_input_of_head_of(input_id)

        return StreamMultipleInputProcessor(inputs, selector, end_input)
