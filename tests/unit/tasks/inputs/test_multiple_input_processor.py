"""Reading several inputs, one element at a time: order, waiting, ends (rules 7.22-7.27)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from flowsim.operators.input_selection import InputSelection
from flowsim.operators.stream_operator import DataInputStatus
from flowsim.tasks.inputs.multiple_input_processor import StreamMultipleInputProcessor
from flowsim.units import NO_TIMESTAMP

MORE, NOTHING = DataInputStatus.MORE_AVAILABLE, DataInputStatus.NOTHING_AVAILABLE
END_OF_DATA, END_OF_INPUT = DataInputStatus.END_OF_DATA, DataInputStatus.END_OF_INPUT


class ScriptedInput:
    """An input that returns the given statuses, and logs each read."""

    def __init__(self, name: str, log: list[str], *answers: DataInputStatus, records: int = 0) -> None:
        self.name = name
        self.log = log
        self.answers = deque(answers)
        self.records_in = records
        self.queued_buffers = records
        self.current_watermark = records or NO_TIMESTAMP
        self.callback: Callable[[], None] | None = None
        self.closed = False

    @property
    def is_available(self) -> bool:
        return bool(self.answers)

    def emit_next(self) -> DataInputStatus:
        self.log.append(self.name)
        return self.answers.popleft() if self.answers else NOTHING

    def when_available(self, callback: Callable[[], None]) -> None:
        self.callback = callback

    def gets(self, answer: DataInputStatus) -> None:
        self.answers.append(answer)
        if self.callback is not None:
            self.callback()

    def close(self) -> None:
        self.closed = True


class Selecting:
    """Selects one input after the other, the last one for good."""

    def __init__(self, *selections: InputSelection) -> None:
        self.selections = list(selections)

    def next_selection(self) -> InputSelection:
        return self.selections.pop(0) if len(self.selections) > 1 else self.selections[0]


def ignore(input_id: int) -> None:
    """Ignores the ends of inputs."""


def test_available_inputs_are_read_in_turn_from_the_first() -> None:
    log: list[str] = []
    processor = StreamMultipleInputProcessor(
        [ScriptedInput("a", log, MORE, MORE, MORE), ScriptedInput("b", log, MORE, MORE)], None, ignore
    )
    assert [processor.emit_next() for _ in range(5)] == [MORE] * 5
    assert log == ["a", "b", "a", "b", "a"]


def test_input_that_becomes_available_is_read_in_turn() -> None:
    log: list[str] = []
    busy, quiet = ScriptedInput("a", log, *[MORE] * 9), ScriptedInput("b", log)
    processor = StreamMultipleInputProcessor([busy, quiet], None, ignore)
    statuses = [processor.emit_next() for _ in range(4)]
    quiet.gets(MORE)
    statuses += [processor.emit_next() for _ in range(3)]
    assert log == ["a", "b", "a", "a", "a", "b", "a"]
    assert statuses == [MORE] * 7


def test_task_waits_for_any_selected_input() -> None:
    log: list[str] = []
    first, second = ScriptedInput("a", log), ScriptedInput("b", log)
    processor = StreamMultipleInputProcessor([first, second], None, ignore)
    assert [processor.emit_next(), processor.emit_next()] == [MORE, NOTHING]
    woken: list[str] = []
    assert not processor.is_available
    processor.when_available(lambda: woken.append("once"))
    second.gets(MORE)
    first.gets(MORE)
    assert woken == ["once"]
    assert processor.is_available


def test_unselected_input_does_not_wake_the_task() -> None:
    log: list[str] = []
    first, second = ScriptedInput("a", log), ScriptedInput("b", log)
    processor = StreamMultipleInputProcessor([first, second], Selecting(InputSelection.FIRST), ignore)
    assert processor.emit_next() is NOTHING
    woken: list[str] = []
    assert not processor.is_available
    processor.when_available(lambda: woken.append("now"))
    second.gets(MORE)
    assert (woken, processor.is_available) == ([], False)
    first.gets(MORE)
    assert (woken, processor.is_available) == (["now"], True)
    assert processor.emit_next() is MORE
    assert log == ["a", "a"]


def test_first_selection_is_requested_at_first_element() -> None:
    """It may decide in ``open`` what it selects."""
    log: list[str] = []
    operator = Selecting(InputSelection.FIRST)
    processor = StreamMultipleInputProcessor(
        [ScriptedInput("a", log, MORE), ScriptedInput("b", log, MORE)], operator, ignore
    )
    operator.selections = [InputSelection.SECOND]
    processor.emit_next()
    assert log == ["b"]


def test_end_of_each_input_is_reported_by_id_and_task_ends_with_last() -> None:
    log: list[str] = []
    ended: list[int] = []
    first = ScriptedInput("a", log, END_OF_DATA, MORE, END_OF_INPUT)
    second = ScriptedInput("b", log, MORE, END_OF_DATA, MORE, END_OF_INPUT)
    processor = StreamMultipleInputProcessor([first, second], None, ended.append)
    assert [processor.emit_next() for _ in range(7)] == [MORE, MORE, MORE, END_OF_DATA, MORE, MORE, END_OF_INPUT]
    assert ended == [1, 2]
    assert processor.is_available


def test_measures_are_combined_over_inputs_and_close_reaches_all() -> None:
    log: list[str] = []
    inputs = [ScriptedInput("a", log, records=5), ScriptedInput("b", log, records=3)]
    processor = StreamMultipleInputProcessor(inputs, None, ignore)
    assert (processor.records_in, processor.queued_buffers, processor.current_watermark) == (8, 8, 3)
    processor.close()
    assert [each.closed for each in inputs] == [True, True]
