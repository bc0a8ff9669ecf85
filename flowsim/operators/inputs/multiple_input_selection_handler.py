"""Selects the next of several inputs, and combines their statuses. Flink: MultipleInputSelectionHandler."""

from __future__ import annotations

from enum import Enum
from typing import assert_never

from flowsim.errors import BadInput, InvariantViolation
from flowsim.operators.input_selection import MAX_SUPPORTED_INPUT_COUNT, InputSelectable, InputSelection
from flowsim.operators.stream_operator import DataInputStatus


class OperatingMode(Enum):
    """How the operator reads: whether it selects inputs, and how many selected inputs still have data."""

    NO_INPUT_SELECTABLE = 0
    NO_DATA_INPUTS_FINISHED = 1
    SOME_DATA_INPUTS_FINISHED = 2
    ALL_DATA_INPUTS_FINISHED = 3


class MultipleInputSelectionHandler:
    """Keeps the selected, available and finished inputs, one bit each (rules 7.22-7.25).

    Raises BadInput for more than 63 inputs. Flink: MultipleInputSelectionHandler.
    """

    __slots__ = (
        "_selectable",
        "_all",
        "_selected",
        "_available",
        "_not_finished",
        "_data_finished",
        "_drain",
        "_mode",
    )

    def __init__(self, selectable: InputSelectable | None, input_count: int) -> None:
        if input_count > MAX_SUPPORTED_INPUT_COUNT:
            raise BadInput(
                f"an operator can have up to {MAX_SUPPORTED_INPUT_COUNT} inputs, not {input_count} (rule 7.24)"
            )
        self._selectable = selectable
        self._all = (1 << input_count) - 1
        self._selected = InputSelection.ALL.input_mask
        self._available = self._all
        self._not_finished = self._all
        self._data_finished = 0
        """The inputs whose data ended, although events may follow."""
        self._drain = True
        self._mode = OperatingMode.NO_INPUT_SELECTABLE if selectable is None else OperatingMode.NO_DATA_INPUTS_FINISHED

    def update_status_and_selection(self, status: DataInputStatus, index: int) -> DataInputStatus:
        """Updates the status of the input that was read, and the selection (rule 7.25).

        Returns the status of the task. Raises BadInput if every selected input is finished while another input is not.
        """
        bit = 1 << index
        match status:
            case DataInputStatus.MORE_AVAILABLE:
                self.next_selection()
                if not self._available & bit:
                    raise InvariantViolation("an input was read that is marked as unavailable", (f"input {index}",))
                return status
            case DataInputStatus.NOTHING_AVAILABLE:
                self._available &= ~bit
            case DataInputStatus.STOPPED:
                self._drain = False
                self._end_data(bit)
            case DataInputStatus.END_OF_DATA:
                self._end_data(bit)
            case DataInputStatus.END_OF_INPUT:
                self._data_finished &= ~bit
                self._not_finished &= ~bit
            case DataInputStatus.END_OF_RECOVERY:
                raise InvariantViolation("an input returned END_OF_RECOVERY, which its processor must not pass on", ())
            case _:
                assert_never(status)
        self.next_selection()
        return self._overall_status(status)

    def _end_data(self, bit: int) -> None:
        self._data_finished |= bit
        if (self._data_finished | ~self._not_finished) & self._all == self._all:
            self._mode = OperatingMode.ALL_DATA_INPUTS_FINISHED
        elif self._mode is OperatingMode.NO_DATA_INPUTS_FINISHED:
            self._mode = OperatingMode.SOME_DATA_INPUTS_FINISHED

    def _overall_status(self, updated: DataInputStatus) -> DataInputStatus:
        if self.are_all_inputs_finished:
            return DataInputStatus.END_OF_INPUT
        # Rule 4.22: only END_OF_DATA is checked here, so a last input that STOPPED does not end the data.
        if updated is DataInputStatus.END_OF_DATA and self.are_all_data_inputs_finished:
            return DataInputStatus.END_OF_DATA if self._drain else DataInputStatus.STOPPED
        if self.is_any_input_available:
            return DataInputStatus.MORE_AVAILABLE
        if not self._selected & self._not_finished:
            raise BadInput("can not make progress: all inputs that next_selection() selects are finished (rule 7.24)")
        return DataInputStatus.NOTHING_AVAILABLE

    def next_selection(self) -> None:
        """Requests the next selection from the operator (rule 7.24)."""
        selectable = self._selectable
        if selectable is None or self._mode is OperatingMode.ALL_DATA_INPUTS_FINISHED:
            self._selected = InputSelection.ALL.input_mask
        elif self._mode is OperatingMode.NO_DATA_INPUTS_FINISHED:
            self._selected = selectable.next_selection().input_mask
        else:
            # The end of an input whose data ended is read even if the operator does not select it.
            self._selected = (selectable.next_selection().input_mask | self._data_finished) & self._all

    def select_next_input_index(self, last_read_index: int) -> int:
        """Returns the input to read, or NONE_AVAILABLE (rule 7.22)."""
        return InputSelection.fair_select_next_index(
            self._selected, self._available & self._not_finished, last_read_index
        )

    @property
    def should_set_available_for_another_input(self) -> bool:
        """True if a selected input counts as unavailable, so that it must be checked again (rule 7.23)."""
        return bool(self._selected & self._all & ~self._available)

    def set_available_input(self, index: int) -> None:
        self._available |= 1 << index

    @property
    def is_any_input_available(self) -> bool:
        return bool(self._selected & self._available & self._not_finished)

    def is_input_selected(self, index: int) -> bool:
        return bool(self._selected >> index & 1)

    def is_input_finished(self, index: int) -> bool:
        return not self._not_finished >> index & 1

    @property
    def are_all_inputs_finished(self) -> bool:
        return not self._not_finished

    @property
    def are_all_data_inputs_finished(self) -> bool:
        return self._mode is OperatingMode.ALL_DATA_INPUTS_FINISHED
