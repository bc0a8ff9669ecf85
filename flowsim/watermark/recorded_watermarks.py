"""Records the watermarks of a strategy as facts."""

from __future__ import annotations

from flowsim.facts.kinds import ElementKind
from flowsim.facts.tracer import TaskTrace
from flowsim.streamrecord.elements import WatermarkStatus
from flowsim.units import NO_TIMESTAMP
from flowsim.watermark.generators import WatermarkGenerator
from flowsim.watermark.status_watermark_valve import ValveOutput
from flowsim.watermark.watermark_output import WatermarkOutput


class ObservedGenerator(WatermarkGenerator):
    """Counts the records of a generator and keeps their highest timestamp; used only while recording."""

    __slots__ = ("records", "max_timestamp", "_inner")

    def __init__(self, inner: WatermarkGenerator) -> None:
        self.records = 0
        self.max_timestamp = NO_TIMESTAMP
        """The highest timestamp in ms."""
        self._inner = inner

    def on_event(self, value: object, timestamp: int, output: WatermarkOutput) -> None:
        self.records += 1
        if timestamp > self.max_timestamp:
            self.max_timestamp = timestamp
        self._inner.on_event(value, timestamp, output)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        self._inner.on_periodic_emit(output)

    def has_pending_effect(self, emitted: int) -> bool:
        return self._inner.has_pending_effect(emitted)

    def seen(self) -> tuple[int, int]:
        """Returns the number of records and their highest timestamp in ms."""
        return self.records, self.max_timestamp


WHOLE_OPERATOR = -1
"""The split number of facts about the whole operator."""


class RecordedWatermarks:
    """Records the watermarks of an operator and of its splits before they reach the output.

    ``main`` is the generator of the whole operator.
    """

    __slots__ = ("_record", "_operator", "_main", "_splits", "_is_mixed", "_output")

    def __init__(self, trace: TaskTrace, operator: int, main: ObservedGenerator, output: ValveOutput) -> None:
        self._record = trace.generated_watermark
        self._operator = operator
        self._main = main
        self._splits: list[ObservedGenerator] = []
        self._is_mixed = False
        """Whether some records belong to splits and others do not."""
        self._output = output

    def add_split(self, generator: ObservedGenerator) -> None:
        """Adds the generator of the next split, which is active; splits are numbered in order."""
        self._splits.append(generator)
        self.record_split_mark(len(self._splits) - 1, ElementKind.STATUS, WatermarkStatus.ACTIVE.value)

    def release_split(self, split: int) -> None:
        """Records that a split has ended, and no longer counts."""
        self.record_split_mark(split, ElementKind.END_OF_PARTITION, 0)

    def emit_watermark(self, timestamp: int) -> None:
        if self._splits:
            if self._main.records and not self._is_mixed:
                self._is_mixed = True
                self._record(self._operator, WHOLE_OPERATOR, ElementKind.RECORD, NO_TIMESTAMP, *self._main.seen())
            self._note(ElementKind.WATERMARK, timestamp)
        else:
            self._record(self._operator, WHOLE_OPERATOR, ElementKind.WATERMARK, timestamp, *self._main.seen())
        self._output.emit_watermark(timestamp)

    def emit_watermark_status(self, status: WatermarkStatus) -> None:
        self._note(ElementKind.STATUS, status.value)
        self._output.emit_watermark_status(status)

    def record_split_mark(self, split: int, kind: ElementKind, timestamp: int) -> None:
        """Records a watermark or status of one split, before it is combined with those of other splits."""
        self._record(self._operator, split, kind, timestamp, *self._splits[split].seen())

    def _note(self, kind: ElementKind, timestamp: int) -> None:
        records, max_timestamp = 0, NO_TIMESTAMP
        for generator in (self._main, *self._splits):
            seen, highest = generator.seen()
            records += seen
            max_timestamp = max(max_timestamp, highest)
        self._record(self._operator, WHOLE_OPERATOR, kind, timestamp, records, max_timestamp)
