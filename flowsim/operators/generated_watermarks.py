"""Records what the watermark strategy of an operator passes on (table ``generated_watermark``)."""

from __future__ import annotations

from collections.abc import Iterable

from flowsim.facts.kinds import ElementKind
from flowsim.facts.tracer import TaskTrace
from flowsim.streamrecord.elements import WatermarkStatus
from flowsim.units import NO_TIMESTAMP
from flowsim.watermark.observed_generator import ObservedGenerator
from flowsim.watermark.status_watermark_valve import ValveOutput

WHOLE_OPERATOR = -1
"""The split of facts that speak of the operator as a whole."""


class GeneratedWatermarks:
    """The facts of one operator: knows its generators, and which of them belong to splits."""

    __slots__ = ("_trace", "_operator", "_generators")

    def __init__(self, trace: TaskTrace, operator: int) -> None:
        self._trace = trace
        self._operator = operator
        self._generators: dict[int, ObservedGenerator] = {}

    def observe(self, split: int, generator: ObservedGenerator) -> None:
        """The generator of a split, ``WHOLE_OPERATOR`` for the one of the main output."""
        self._generators[split] = generator

    def passes(self, split: int, kind: ElementKind, timestamp: int) -> None:
        """A watermark or status is passed on: by a split to those it is merged with, or by the operator downstream."""
        generators: Iterable[ObservedGenerator] = (
            self._generators.values() if split == WHOLE_OPERATOR else (self._generators[split],)
        )
        records, max_timestamp = 0, NO_TIMESTAMP
        for generator in generators:
            records += generator.records
            max_timestamp = max(max_timestamp, generator.max_timestamp)
        self._trace.generated_watermark(self._operator, split, kind, timestamp, records, max_timestamp)


class RecordedWatermarks:
    """Stands before the output of the operator and records what passes."""

    __slots__ = ("_facts", "_output")

    def __init__(self, facts: GeneratedWatermarks, output: ValveOutput) -> None:
        self._facts = facts
        self._output = output

    def emit_watermark(self, timestamp: int) -> None:
        self._facts.passes(WHOLE_OPERATOR, ElementKind.WATERMARK, timestamp)
        self._output.emit_watermark(timestamp)

    def emit_watermark_status(self, status: WatermarkStatus) -> None:
        self._facts.passes(WHOLE_OPERATOR, ElementKind.STATUS, status.value)
        self._output.emit_watermark_status(status)
