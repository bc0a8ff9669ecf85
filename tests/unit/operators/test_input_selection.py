"""The next input to read: selections, their handler, and provided orders (rules 4.22, 7.22-7.25)."""

from __future__ import annotations

import pytest

from flowsim.errors import BadInput
from flowsim.operators.input_selection import NONE_AVAILABLE, InputSelection
from flowsim.operators.inputs.multiple_input_selection_handler import MultipleInputSelectionHandler
from flowsim.operators.inputs.reading_order import OneToItsEnd, StrictTurns, reading_order
from flowsim.operators.stream_operator import DataInputStatus

MORE, NOTHING = DataInputStatus.MORE_AVAILABLE, DataInputStatus.NOTHING_AVAILABLE
STOPPED, END_OF_DATA, END_OF_INPUT = (
    DataInputStatus.STOPPED,
    DataInputStatus.END_OF_DATA,
    DataInputStatus.END_OF_INPUT,
)


class Selecting:
    """Selects the given inputs."""

    def __init__(self, *selections: InputSelection) -> None:
        self.selections = list(selections)

    def next_selection(self) -> InputSelection:
        return self.selections.pop(0) if len(self.selections) > 1 else self.selections[0]


def test_selection_counts_inputs_from_one() -> None:
    selection = InputSelection.of(1, 3)
    assert selection.input_mask == 0b101
    assert [selection.is_input_selected(input_id) for input_id in (1, 2, 3)] == [True, False, True]
    assert [InputSelection.ALL.is_input_selected(input_id) for input_id in (1, 63)] == [True, True]
    assert (InputSelection.of(1), InputSelection.of(2)) == (InputSelection.FIRST, InputSelection.SECOND)


@pytest.mark.parametrize("input_id", [0, -1, 64, True, "1"])
def test_selection_of_invalid_input_is_refused(input_id: int) -> None:
    with pytest.raises(BadInput, match="expected the id of an input, from 1 to 63"):
        InputSelection.of(input_id)


def test_next_input_follows_last_one_cyclically() -> None:
    def following(last_read: int, candidates: int) -> int:
        return InputSelection.fair_select_next_index(-1, candidates, last_read)

    assert [following(last, 0b1011) for last in (0, 1, 2, 3)] == [1, 3, 3, 0]
    assert following(1, 0b0010) == 1
    assert following(0, 0) == NONE_AVAILABLE


def test_more_than_63_inputs_are_refused() -> None:
    MultipleInputSelectionHandler(None, 63)
    with pytest.raises(BadInput, match="up to 63 inputs, not 64"):
        MultipleInputSelectionHandler(None, 64)


def test_two_inputs_are_read_alternately_from_the_first() -> None:
    handler = MultipleInputSelectionHandler(None, 2)
    read, last = [], 1
    for _ in range(4):
        last = handler.select_next_input_index(last)
        read.append(last)
        assert handler.update_status_and_selection(MORE, last) is MORE
    assert read == [0, 1, 0, 1]


def test_unavailable_input_is_skipped_until_available() -> None:
    handler = MultipleInputSelectionHandler(None, 2)
    assert handler.update_status_and_selection(NOTHING, 0) is MORE
    assert handler.should_set_available_for_another_input
    assert handler.select_next_input_index(1) == 1
    assert handler.update_status_and_selection(NOTHING, 1) is NOTHING
    assert handler.select_next_input_index(1) == NONE_AVAILABLE
    handler.set_available_input(0)
    assert handler.select_next_input_index(0) == 0


def test_data_of_task_ends_with_last_input() -> None:
    handler = MultipleInputSelectionHandler(None, 2)
    assert handler.update_status_and_selection(END_OF_DATA, 0) is MORE
    assert not handler.are_all_data_inputs_finished
    assert handler.update_status_and_selection(END_OF_DATA, 1) is END_OF_DATA
    assert handler.are_all_data_inputs_finished
    assert handler.update_status_and_selection(END_OF_INPUT, 1) is MORE
    assert handler.update_status_and_selection(END_OF_INPUT, 0) is END_OF_INPUT


def test_stopped_input_before_drained_one_stops_task() -> None:
    handler = MultipleInputSelectionHandler(None, 2)
    handler.update_status_and_selection(STOPPED, 0)
    assert handler.update_status_and_selection(END_OF_DATA, 1) is STOPPED


@pytest.mark.parametrize("first", [STOPPED, END_OF_DATA])
def test_last_input_that_stops_ends_no_data(first: DataInputStatus) -> None:
    """Rule 4.22."""
    handler = MultipleInputSelectionHandler(None, 2)
    handler.update_status_and_selection(first, 0)
    assert handler.update_status_and_selection(STOPPED, 1) is MORE


def test_selection_is_requested_after_every_status() -> None:
    first, second = InputSelection.FIRST, InputSelection.SECOND
    handler = MultipleInputSelectionHandler(Selecting(first, second, first, second), 2)
    handler.next_selection()
    read, last = [], 1
    for status in (MORE, NOTHING, MORE):
        last = handler.select_next_input_index(last)
        read.append(last)
        handler.update_status_and_selection(status, last)
    assert read == [0, 1, 0]


def test_input_after_end_of_data_is_read_without_selection() -> None:
    handler = MultipleInputSelectionHandler(Selecting(InputSelection.FIRST, InputSelection.SECOND), 2)
    handler.next_selection()
    handler.update_status_and_selection(END_OF_DATA, 0)
    assert [handler.is_input_selected(index) for index in (0, 1)] == [True, True]
    handler.update_status_and_selection(END_OF_INPUT, 0)
    assert [handler.is_input_selected(index) for index in (0, 1)] == [False, True]


def test_selecting_only_finished_inputs_is_refused() -> None:
    handler = MultipleInputSelectionHandler(Selecting(InputSelection.FIRST), 2)
    handler.next_selection()
    handler.update_status_and_selection(END_OF_DATA, 0)
    with pytest.raises(BadInput, match=r"all inputs that next_selection\(\) selects are finished"):
        handler.update_status_and_selection(END_OF_INPUT, 0)


def test_selection_is_not_requested_after_all_data_ended() -> None:
    handler = MultipleInputSelectionHandler(Selecting(InputSelection.FIRST), 2)
    handler.update_status_and_selection(END_OF_DATA, 0)
    handler.update_status_and_selection(END_OF_DATA, 1)
    handler.update_status_and_selection(END_OF_INPUT, 0)
    assert handler.update_status_and_selection(END_OF_INPUT, 1) is END_OF_INPUT


def test_one_to_its_end_selects_one_input_until_its_end() -> None:
    order = OneToItsEnd(2)
    order.record_read(2)
    assert order.next_selection() == InputSelection.SECOND
    order.record_end(1)
    assert order.next_selection() == InputSelection.SECOND
    order.record_end(2)
    assert order.next_selection() == InputSelection.ALL


def test_strict_turns_skip_ended_inputs() -> None:
    order = StrictTurns(3)

    def next_id() -> int:
        return order.next_selection().input_mask.bit_length()

    turns = [next_id()]
    for _ in range(3):
        order.record_read(next_id())
        turns.append(next_id())
    assert turns == [1, 2, 3, 1]
    order.record_end(1)
    assert next_id() == 2
    order.record_end(3)
    order.record_read(2)
    assert next_id() == 2
    order.record_end(2)
    assert order.next_selection() == InputSelection.ALL


def test_unknown_reading_is_refused() -> None:
    assert reading_order("any") is None
    with pytest.raises(BadInput, match="expected one of any, first, second, alternate, got 'third'"):
        reading_order("third")  # type: ignore[arg-type]
