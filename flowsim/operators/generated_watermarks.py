"""Records what the watermark strategy of an operator passes on (table ``generated_watermark``)."""

from __future__ import annotations

from flowsim.facts.kinds import ElementKind
from flowsim.facts.tracer import TaskTrace
from flowsim.streamrecord.elements import WatermarkStatus
from flowsim.units import NO_TIMESTAMP
from flowsim.watermark.observed_generator import ObservedGenerator
from flowsim.watermark.status_watermark_valve import ValveOutput

WHOLE_OPERATOR = -1
"""The split of facts that speak of the operator as a whole."""


class RecordedWatermarks:
    """Stands before the output of an operator and records what passes, and what its splits say to each other.

    ``main`` is the generator of the operator as a whole.
    """

    __slots__ = ("_record", "_operator", "_main", "_splits", "_output")

    def __init__(self, trace: TaskTrace, operator: int, main: ObservedGenerator, output: ValveOutput) -> None:
        self._record = trace.generated_watermark
        self._operator = operator
        self._main = main
        self._splits: list[ObservedGenerator] = []
        self._output = output

    def add_split(self, generator: ObservedGenerator) -> None:
        """The generator of the next split; splits are numbered as they come."""
        self._splits.append(generator)

    def emit_watermark(self, timestamp: int) -> None:
        if self._splits:
            self._note(ElementKind.WATERMARK, timestamp)
        else:
            self._record(self._operator, WHOLE_OPERATOR, ElementKind.WATERMARK, timestamp, *self._main.seen())
        self._output.emit_watermark(timestamp)

    def emit_watermark_status(self, status: WatermarkStatus) -> None:
        self._note(ElementKind.STATUS, status.value)
        self._output.emit_watermark_status(status)

    def split_says(self, split: int, kind: ElementKind, timestamp: int) -> None:
        """What one split passes on to those it is merged with."""
        self._record(self._operator, split, kind, timestamp, *self._splits[split].seen())

    def _note(self, kind: ElementKind, timestamp: int) -> None:
        records, max_timestamp = 0, NO_TIMESTAMP
        for generator in (self._main, *self._splits):
            seen, highest = generator.seen()
            records += seen
            max_timestamp = max(max_timestamp, highest)
        self._record(self._operator, WHOLE_OPERATOR, kind, timestamp, records, max_timestamp)
