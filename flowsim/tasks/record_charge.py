"""Adds a cost that depends on the record to the clock of a task (architecture decision D4)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from flowsim.errors import BadInput
from flowsim.graph.operator_cost import RecordCosts
from flowsim.operators.stream_operator import OperatorInput, Value
from flowsim.streamrecord.elements import LatencyMarker, OutputTag, WatermarkStatus
from flowsim.streamrecord.output import Output
from flowsim.task_clock import TaskClock
from flowsim.tasks.forwarding_output import ForwardingOutput
from flowsim.values.durations import Duration


class PausedTime(NamedTuple):
    """A pause on the clock of the job."""

    from_ns: int
    to_ns: int


class RecordCharge:
    """Computes the cost of each record of one operator subtask, and adds it to the clock of the task.

    The scheduling policy scales the costs of a batch, as it scales constant costs. A record that arrives in a pause waits
    for its end.
    """

    __slots__ = ("_costs", "_clock", "_pauses", "_pause_until", "_numerator", "_denominator")

    def __init__(
        self,
        costs: RecordCosts,
        clock: TaskClock,
        pauses: Sequence[PausedTime] = (),
        pause_until: Callable[[int], None] = lambda until_ns: None,
    ) -> None:
        """``costs``: empty if all records have the same cost. ``pause_until``: moves the clock; meanwhile other tasks run."""
        self._costs = costs
        self._clock = clock
        self._pauses = sorted(pauses)
        self._pause_until = pause_until
        self._numerator = self._denominator = 1

    def scale(self, numerator: int, denominator: int) -> None:
        """Sets the share of their nominal cost that the records of the next batch cost."""
        self._numerator, self._denominator = numerator, denominator

    def add(self, value: Value, input_index: int = 0) -> None:
        """Adds the pause in which a record arrives, then its cost. Raises BadInput unless that is 0 ns or more."""
        if self._pauses:
            self._pause()
        if not self._costs:
            return
        cost = self._costs[input_index if len(self._costs) > 1 else 0](value)
        nanos = cost.nanos if isinstance(cost, Duration) else cost
        if type(nanos) is not int or nanos < 0:
            raise BadInput(f"the cost of a record: expected 0 ns or more, or a Duration, got {cost!r:.100}")
        self._clock.now_ns += nanos * self._numerator // self._denominator

    def _pause(self) -> None:
        for pause in self._pauses:
            if pause.from_ns <= self._clock.now_ns < pause.to_ns:
                self._pause_until(pause.to_ns)


class ChargedInput(OperatorInput):
    """Adds the cost of each record of an operator's input before the operator processes it."""

    __slots__ = ("_operator", "_charge", "_index")

    def __init__(self, operator: OperatorInput, charge: RecordCharge, index: int = 0) -> None:
        self._operator = operator
        self._charge = charge
        self._index = index

    def process_element(self, value: Value, timestamp: int | None) -> None:
        self._charge.add(value, self._index)
        self._operator.process_element(value, timestamp)

    def process_watermark(self, timestamp: int) -> None:
        self._operator.process_watermark(timestamp)

    def process_watermark_status(self, status: WatermarkStatus) -> None:
        self._operator.process_watermark_status(status)

    def process_latency_marker(self, marker: LatencyMarker) -> None:
        self._operator.process_latency_marker(marker)


class ChargedOutput(ForwardingOutput):
    """Adds the cost of each record that a source emits before its consumers get it."""

    __slots__ = ("_charge",)

    def __init__(self, output: Output, charge: RecordCharge) -> None:
        super().__init__(output)
        self._charge = charge

    def charge(self, value: Value) -> Output:
        self._charge.add(value)
        return self._output

    def collect(self, value: Value, timestamp: int | None) -> None:
        self._charge.add(value)
        self._output.collect(value, timestamp)

    def collect_side(self, tag: OutputTag, value: Value, timestamp: int | None) -> None:
        self._charge.add(value)
        self._output.collect_side(tag, value, timestamp)
