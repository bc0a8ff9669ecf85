"""Selection among several inputs beside the real InputSelection, selection handler and processor (rules 4.22, 7.22-7.27)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import ClassVar

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

from flowsim.errors import BadInput, InvariantViolation
from flowsim.operators.input_selection import InputSelection
from flowsim.operators.inputs.multiple_input_selection_handler import MultipleInputSelectionHandler
from flowsim.operators.stream_operator import DataInputStatus
from flowsim.tasks.inputs.multiple_input_processor import StreamMultipleInputProcessor
from flowsim.units import NO_TIMESTAMP
from tests.support.flink.machine import Differential, DifferentialMachine

STATUSES = [status for status in DataInputStatus if status is not DataInputStatus.END_OF_RECOVERY]
MASKS = st.one_of(st.just(-1), st.sampled_from([1, 2, 4]), st.integers(0, 7), st.integers(0, 2**63 - 1))
COUNTS = st.sampled_from([2, 2, 2, 3, 4, 7, 62, 63])


class Operator:
    """Selects the given inputs, and records how often it was called and which inputs ended."""

    def __init__(self) -> None:
        self.selection = InputSelection.ALL
        self.asked = 0
        self.ended: list[int] = []

    def next_selection(self) -> InputSelection:
        self.asked += 1
        return self.selection


def selected(count: int, mask: int) -> int:
    """``mask`` over the inputs there are, at least one of them; -1 stays all."""
    return mask if mask == -1 else mask % 2**count or 1


class SelectionHandlerMachine(DifferentialMachine):
    """Any status of any input, in any order: also what no processor would ever report."""

    subject = "MultipleInputSelectionHandler"
    errors: ClassVar[dict[str, type[BaseException]]] = {
        "IOException": BadInput,
        "IllegalStateException": InvariantViolation,
    }

    @initialize(count=COUNTS, selects=st.sampled_from([True, True, False]), mask=MASKS)
    def begin(self, count: int, selects: bool, mask: int) -> None:
        self.count = count
        self.operator = Operator()
        self.real = self.flink.java.flowsim.differential.Selections(count, selects)
        self.select(mask, exact=False)
        self.handler = self.real.handler()
        self.ours = MultipleInputSelectionHandler(self.operator if selects else None, count)
        self.compare()

    @rule(mask=MASKS, exact=st.booleans())
    def select(self, mask: int, exact: bool) -> None:
        mask = mask if exact else selected(self.count, mask)
        self.real.select(mask)
        self.operator.selection = InputSelection(mask)

    @rule(status=st.sampled_from(STATUSES), place=st.integers(0, 62))
    def update(self, status: DataInputStatus, place: int) -> None:
        index = place % self.count
        self.both(
            lambda: self.real.update(status.name, index),
            lambda: self.ours.update_status_and_selection(status, index).name,
        )
        self.compare()

    @rule(place=st.integers(0, 62))
    def set_available(self, place: int) -> None:
        self.flink.calls(self.handler, ("setAvailableInput", place % self.count))
        self.ours.set_available_input(place % self.count)
        self.compare()

    @rule(last_read=st.integers(0, 62))
    def select_next(self, last_read: int) -> None:
        (theirs,) = self.flink.calls(self.handler, ("selectNextInputIndex", last_read))
        self.same(theirs, lambda: self.ours.select_next_input_index(last_read))

    @rule()
    def next_selection(self) -> None:
        self.flink.calls(self.handler, "nextSelection")
        self.ours.next_selection()
        self.compare()

    def compare(self) -> None:
        ours, some = self.ours, sorted({0, 1, self.count - 1})
        theirs = self.flink.calls(
            self.handler, "isAnyInputAvailable", "areAllInputsFinished", "areAllDataInputsFinished",
            "shouldSetAvailableForAnotherInput", *[("isInputSelected", i) for i in some],
            *[("isInputFinished", i) for i in some],
        )  # fmt: skip
        self.same(
            theirs,
            lambda: [
                ours.is_any_input_available, ours.are_all_inputs_finished, ours.are_all_data_inputs_finished,
                ours.should_set_available_for_another_input, *[ours.is_input_selected(i) for i in some],
                *[ours.is_input_finished(i) for i in some],
            ],
        )  # fmt: skip
        self.same(self.real.asked(), lambda: self.operator.asked)


class Scripted:
    """An input that returns the given statuses."""

    records_in = 0
    queued_buffers = 0
    current_watermark = NO_TIMESTAMP

    def __init__(self, index: int, read: list[int]) -> None:
        self.index = index
        self.answers: deque[DataInputStatus] = deque()
        self.read = read
        self.callback: Callable[[], None] | None = None

    @property
    def is_available(self) -> bool:
        return bool(self.answers)

    def offer(self, status: DataInputStatus) -> None:
        self.answers.append(status)
        if len(self.answers) == 1 and self.callback is not None:
            self.callback()

    def emit_next(self) -> DataInputStatus:
        self.read.append(self.index)
        return self.answers.popleft() if self.answers else DataInputStatus.NOTHING_AVAILABLE

    def when_available(self, callback: Callable[[], None]) -> None:
        self.callback = callback

    def close(self) -> None:
        self.answers.clear()


class ProcessorMachine(DifferentialMachine):
    """A processor whose inputs say what inputs say: elements, pauses, an end of data or a stop, then an end of input."""

    subject = "StreamMultipleInputProcessor"
    errors: ClassVar[dict[str, type[BaseException]]] = {
        "IOException": BadInput,
        "IllegalStateException": InvariantViolation,
    }

    @initialize(count=COUNTS, selects=st.sampled_from([True, True, False]))
    def begin(self, count: int, selects: bool) -> None:
        self.count = count
        self.operator = Operator()
        self.read: list[int] = []
        self.inputs = [Scripted(index, self.read) for index in range(count)]
        self.life = [0] * count
        self.real = self.flink.java.flowsim.differential.Selections(count, selects)
        self.ours = StreamMultipleInputProcessor(
            self.inputs, self.operator if selects else None, self.operator.ended.append
        )
        self.awake: list[bool] = []

    @rule(mask=MASKS, several=st.booleans())
    def select(self, mask: int, several: bool) -> None:
        mask = selected(self.count, mask)
        mask = mask if several else mask & -mask
        self.real.select(mask)
        self.operator.selection = InputSelection(mask)

    @rule(
        place=st.one_of(st.integers(0, 1), st.integers(0, 62)),
        status=st.sampled_from([*[DataInputStatus.MORE_AVAILABLE] * 4, DataInputStatus.NOTHING_AVAILABLE]),
        times=st.integers(1, 4),
    )
    def element(self, place: int, status: DataInputStatus, times: int) -> None:
        index = place % self.count
        if self.life[index] < 2:
            for _ in range(times):
                self._offer(index, status)

    @rule(place=st.integers(0, 62), drained=st.booleans())
    def ends(self, place: int, drained: bool) -> None:
        """The data of an input end, later all of it."""
        index = place % self.count
        if self.life[index] < 2:
            last = DataInputStatus.END_OF_DATA if drained else DataInputStatus.STOPPED
            self._offer(index, last if self.life[index] == 0 else DataInputStatus.END_OF_INPUT)
            self.life[index] += 1

    @rule(place=st.integers(0, 2), mask=MASKS, several=st.booleans())
    def changes_its_mind_and_waits(self, place: int, mask: int, several: bool) -> None:
        """A selection changes only when something was read: what was awaited before may wake the task still."""
        self.select(mask, several)
        self.element(place, DataInputStatus.MORE_AVAILABLE, times=1)
        self.process(times=self.count + 2 if self.count < 5 else 2)
        self.wait()

    def _offer(self, index: int, status: DataInputStatus) -> None:
        self.real.offer(index, status.name)
        self.inputs[index].offer(status)
        if self.awake:
            self.same(self.real.isAwake(), lambda: self.awake[-1])

    @rule(times=st.integers(1, 5))
    def process(self, times: int) -> None:
        for _ in range(times):
            self.both(self.real.process, lambda: self.ours.emit_next().name)
        asked, read, ended = self.flink.calls(self.real, "asked", "read", "ended")
        self.same(asked, lambda: self.operator.asked)
        self.same(read, lambda: self.read)
        self.same(ended, lambda: self.operator.ended)

    @rule()
    def is_available(self) -> None:
        self.both(self.real.isAvailable, lambda: self.ours.is_available)

    @rule()
    def wait(self) -> None:
        """As a task does: it asks, and waits only when the answer is no."""
        self.both(getattr(self.real, "await"), lambda: self.ours.is_available)
        if not self.ours.is_available:
            self.awake = [False]
            self.ours.when_available(lambda awake=self.awake: awake.__setitem__(0, True))  # type: ignore[misc]
        else:
            self.awake = []


def test_selection_equals_flinks(differential: Differential) -> None:
    differential.run(SelectionHandlerMachine, examples=60, steps=40)


def test_reading_of_several_inputs_equals_flinks(differential: Differential) -> None:
    differential.run(ProcessorMachine, examples=80, steps=50)


def test_next_input_equals_flinks(differential: Differential) -> None:
    # py4j finds a static method by its name alone, and here a method of objects has the same name.
    real = differential.flink.method(
        "org.apache.flink.streaming.api.operators.InputSelection", "fairSelectNextIndex", "long", "long", "int"
    )

    @differential.settings(300)
    @given(wanted=MASKS, available=MASKS, last_read=st.integers(0, 62))
    def same(wanted: int, available: int, last_read: int) -> None:
        ours = InputSelection.fair_select_next_index(wanted, available, last_read)
        assert real(None, wanted, available, last_read) == ours
        differential.tallies.count("InputSelection.fairSelectNextIndex", sequences=1, commands=1)

    same()
