"""Reads several inputs of one task, one element of one input at a time. Flink: StreamMultipleInputProcessor (7.E)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from flowsim.operators.input_selection import NONE_AVAILABLE, InputSelectable
from flowsim.operators.inputs.multiple_input_selection_handler import MultipleInputSelectionHandler
from flowsim.operators.stream_operator import DataInputStatus
from flowsim.tasks.inputs.network_input import StreamTaskNetworkInput
from flowsim.tasks.inputs.sorting_input import SortingInput
from flowsim.tasks.inputs.task_input import ReadInput, TaskInput
from flowsim.tasks.operator_chain import OperatorChain


class StreamMultipleInputProcessor:
    """The input of a task whose head operator has several inputs (rules 7.22-7.27).

    Flink: StreamMultipleInputProcessor. ``selectable`` chooses among the inputs, None reads all in turn; ``end_input``
    gets the id, from 1, of each input that ended with drain. Raises BadInput for more than 63 inputs. Invariants: while
    two inputs have elements and both are selected, they take turns (I7.f); the head operator is notified of the end of
    each input once, after its last record (I7.c).
    """

    __slots__ = ("inputs", "_handler", "_end_input", "_last_read", "_is_prepared", "_callback", "_listens")

    def __init__(
        self, inputs: Sequence[ReadInput], selectable: InputSelectable | None, end_input: Callable[[int], None]
    ) -> None:
        self.inputs = tuple(inputs)
        self._handler = MultipleInputSelectionHandler(selectable, len(self.inputs))
        self._end_input = end_input
        # Of two inputs the first is read first; of more, as in Flink, the third.
        self._last_read = 1
        self._is_prepared = False
        self._callback: Callable[[], None] | None = None
        self._listens = [False] * len(self.inputs)
        """True for each input with a pending callback."""

    @property
    def records_in(self) -> int:
        return sum(each.records_in for each in self.inputs)

    @property
    def queued_buffers(self) -> int:
        return sum(each.queued_buffers for each in self.inputs)

    @property
    def current_watermark(self) -> int:
        """The minimum watermark of all inputs in ms (rule 13.8)."""
        return min(each.current_watermark for each in self.inputs)

    @property
    def is_available(self) -> bool:
        """True if an input can be read (rule 7.26). As in Flink, also registers callbacks at inputs without data."""
        handler = self._handler
        if handler.is_any_input_available or handler.are_all_inputs_finished:
            return True
        available = False
        for index, each in enumerate(self.inputs):
            if handler.is_input_selected(index) and not handler.is_input_finished(index):
                if each.is_available:
                    available = True
                else:
                    self._listen(index)
        return available

    def when_available(self, callback: Callable[[], None]) -> None:
        """Calls back when an input with a registered callback has data (rule 7.26).

        The input may no longer be selected.
        """
        self._callback = callback

    def _listen(self, index: int) -> None:
        if not self._listens[index]:
            self._listens[index] = True
            self.inputs[index].when_available(partial(self._on_available, index))

    def _on_available(self, index: int) -> None:
        if self._listens[index]:
            self._listens[index] = False
            callback, self._callback = self._callback, None
            if callback is not None:
                callback()

    def emit_next(self) -> DataInputStatus:
        """Processes one element or event of one input (rules 4.8, 7.22)."""
        handler = self._handler
        if not self._is_prepared:
            # Called only now, because the operator may decide its selection in ``open``.
            handler.next_selection()
            self._is_prepared = True
        index = self._select_next()
        if index == NONE_AVAILABLE:
            return DataInputStatus.NOTHING_AVAILABLE
        self._last_read = index
        status = self.inputs[index].emit_next()
        if status is DataInputStatus.END_OF_DATA:
            self._end_input(index + 1)
        return handler.update_status_and_selection(status, index)

    def _select_next(self) -> int:
        """Returns the index of the next input to read (rules 7.22, 7.23)."""
        handler = self._handler
        if not handler.is_any_input_available:
            self._check_all()
        index = handler.select_next_input_index(self._last_read)
        if index != NONE_AVAILABLE and handler.should_set_available_for_another_input:
            # So that an input with new data is not starved by the input that is read.
            self._check_all()
        return index

    def _check_all(self) -> None:
        for index, each in enumerate(self.inputs):
            if each.is_available:
                self._handler.set_available_input(index)

    @property
    def waits_for(self) -> str:
        return "input"

    def end_of_input_with_drain(self, chain: OperatorChain) -> None:
        """Does nothing: the end of each input was already reported (rule 7.27)."""

    def close(self) -> None:
        for each in self.inputs:
            each.close()


def network_inputs(task_input: TaskInput) -> Sequence[StreamTaskNetworkInput]:
    """Returns the network inputs of a task; none for a source."""
    inputs = task_input.inputs if isinstance(task_input, StreamMultipleInputProcessor) else (task_input,)
    read = (each.network if isinstance(each, SortingInput) else each for each in inputs)
    return [each for each in read if isinstance(each, StreamTaskNetworkInput)]
