"""Built-in selections of the next input, for operators without a selection of their own (rule 7.24)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

from flowsim.errors import BadInput
from flowsim.operators.input_selection import InputSelection
from flowsim.operators.inputs.combined_input import ProcessElement
from flowsim.operators.stream_operator import Value

Reading = Literal["any", "first", "second", "alternate"]
"""``any``: all inputs with data in turn.

``first`` and ``second``: this input to its end, then the other input. ``alternate``: strictly one record of each input
in turn; the operator waits if the input has no record.
"""

READINGS: tuple[Reading, ...] = ("any", "first", "second", "alternate")


class ReadingOrder(Protocol):
    """Selects the next input from the records that were read and the inputs that ended. Flink: InputSelectable."""

    def next_selection(self) -> InputSelection: ...

    def record_read(self, input_id: int) -> None:
        """Called after a record of this input was processed."""

    def record_end(self, input_id: int) -> None:
        """Called when this input reached its end of data, with drain."""


class OneToItsEnd:
    """Selects only one input until its data ended, then all inputs, as for the build side of a hash join."""

    __slots__ = ("_input_id", "_ended")

    def __init__(self, input_id: int) -> None:
        self._input_id = input_id
        self._ended = False

    def next_selection(self) -> InputSelection:
        return InputSelection.ALL if self._ended else InputSelection.of(self._input_id)

    def record_read(self, input_id: int) -> None:
        """Does nothing."""

    def record_end(self, input_id: int) -> None:
        self._ended = self._ended or input_id == self._input_id


class StrictTurns:
    """Selects one record of each input in turn, even if only another input has data; skips inputs that ended."""

    __slots__ = ("_open", "_next")

    def __init__(self, input_count: int) -> None:
        self._open = [True] * input_count
        self._next = 1

    def next_selection(self) -> InputSelection:
        return InputSelection.of(self._next) if any(self._open) else InputSelection.ALL

    def record_read(self, input_id: int) -> None:
        self._pass_on(input_id)

    def record_end(self, input_id: int) -> None:
        self._open[input_id - 1] = False
        if input_id == self._next:
            self._pass_on(input_id)

    def _pass_on(self, input_id: int) -> None:
        count = len(self._open)
        for step in range(1, count + 1):
            candidate = (input_id - 1 + step) % count + 1
            if self._open[candidate - 1]:
                self._next = candidate
                return


def reading_order(reading: Reading) -> ReadingOrder | None:
    """Returns a new order for an operator with two inputs; None for ``any``. Raises BadInput for an unknown name."""
    match reading:
        case "any":
            return None
        case "first":
            return OneToItsEnd(1)
        case "second":
            return OneToItsEnd(2)
        case "alternate":
            return StrictTurns(2)
    raise BadInput(f"reading: expected one of {', '.join(READINGS)}, got {reading!r}")


def recording_reads(methods: Sequence[ProcessElement], order: ReadingOrder) -> list[ProcessElement]:
    """Returns the process methods, changed to notify ``order`` after each record."""
    return [_recording_reads(method, order, input_id) for input_id, method in enumerate(methods, 1)]


def _recording_reads(method: ProcessElement, order: ReadingOrder, input_id: int) -> ProcessElement:
    def process_element(value: Value, timestamp: int | None) -> None:
        method(value, timestamp)
        order.record_read(input_id)

    return process_element
