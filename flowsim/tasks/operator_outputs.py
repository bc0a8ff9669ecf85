"""The outputs of operators in a chain. Flink: ChainingOutput, CopyingChainingOutput, BroadcastingOutputCollector
(5.8-5.10).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mypy_extensions import mypyc_attr

from flowsim.failure_location import note_operator, note_record
from flowsim.network.writers.record_writer import RecordWriter
from flowsim.operators.stream_operator import OperatorInput, Value
from flowsim.streamrecord.elements import LatencyMarker, OutputTag, WatermarkStatus
from flowsim.streamrecord.output import CountingOutput, Output
from flowsim.units import NO_TIMESTAMP
from flowsim.values.closed_set import SCALARS, checked_copy


@mypyc_attr(allow_interpreted_subclasses=True)
class ChainingOutput(CountingOutput):
    """Passes elements to the next operator of the chain, and notes it on their errors. Flink: ChainingOutput.

    Watermarks are dropped while the announced status is IDLE, and only changes of status are forwarded (rule 5.8).
    Records are counted here in addition to the receiving operator, so that a law can compare the two counts.
    """

    __slots__ = ("operator", "_name", "_status")

    def __init__(self, operator: OperatorInput, name: str) -> None:
        super().__init__()
        self.operator = operator
        self._name = name
        self._status = WatermarkStatus.ACTIVE

    def collect(self, value: Value, timestamp: int | None) -> None:
        self.records_out += 1
        try:
            self.operator.process_element(value, timestamp)
        except BaseException as error:
            note_record(error, self._name, value, timestamp)
            raise

    def emit_watermark(self, timestamp: int) -> None:
        if self._status is WatermarkStatus.ACTIVE:
            try:
                self.operator.process_watermark(timestamp)
            except BaseException as error:
                note_operator(error, self._name)
                raise

    def emit_watermark_status(self, status: WatermarkStatus) -> None:
        if status is not self._status:
            self._status = status
            try:
                self.operator.process_watermark_status(status)
            except BaseException as error:
                note_operator(error, self._name)
                raise

    def emit_latency_marker(self, marker: LatencyMarker) -> None:
        try:
            self.operator.process_latency_marker(marker)
        except BaseException as error:
            note_operator(error, self._name)
            raise


class CopyingChainingOutput(ChainingOutput):
    """Passes copies of mutable values, as with object reuse off (rule 5.10). Flink: CopyingChainingOutput.

    What cannot be a record value raises ValueNotAllowed, as in a channel; ChainingOutput does not check values.
    """

    __slots__ = ()

    def __init__(self, operator: OperatorInput, name: str) -> None:
        super().__init__(operator, name)

    def collect(self, value: Value, timestamp: int | None) -> None:
        self.records_out += 1
        # A flat tuple is immutable, so it needs no copy. Its items are checked here as in the encoder, since a call
        # would cost more than the check. All other values go to ``checked_copy``, which raises for values outside the
        # set.
        if type(value) is tuple:
            for item in value:
                kind = type(item)
                if kind is int:
                    if item <= 9223372036854775807 and item >= -9223372036854775808:
                        continue
                elif kind is str:
                    if item.isascii():
                        continue
                elif kind in SCALARS:
                    continue
                value = checked_copy(value)
                break
        elif type(value) is int:
            if value > 9223372036854775807 or value < -9223372036854775808:
                checked_copy(value)
        elif type(value) is str:
            if not value.isascii():
                checked_copy(value)
        elif type(value) not in SCALARS:
            value = checked_copy(value)
        try:
            self.operator.process_element(value, timestamp)
        except BaseException as error:
            note_record(error, self._name, value, timestamp)
            raise


@mypyc_attr(allow_interpreted_subclasses=True)
class BroadcastingCollector(CountingOutput):
    """Passes each record to several consumers, or to none. Flink: BroadcastingOutputCollector."""

    __slots__ = ("_targets",)

    def __init__(self, targets: Sequence[Output]) -> None:
        super().__init__()
        self._targets = tuple(targets)

    def collect(self, value: Value, timestamp: int | None) -> None:
        self.records_out += 1
        for target in self._targets:
            target.collect(value, timestamp)


@dataclass(frozen=True)
class OutputEdge:
    """An edge to one consumer of an operator: the next operator or a writer. ``tag`` is None for the main output."""

    tag: str | None
    target: CountingOutput


@mypyc_attr(allow_interpreted_subclasses=True)
class OperatorOutput(Output):
    """All consumers of one operator. Flink: OperatorChain.

    Main records go to the edges without a tag, tagged ones to the edges of their tag (rule 5.9); watermarks and
    statuses go to every edge, latency markers to one random edge (rule 8.20).
    """

    __slots__ = ("edges", "_main", "_side", "_elements", "_choose", "side_records", "current_watermark", "_idle")

    def __init__(self, edges: Sequence[OutputEdge], choose: Callable[[int], int]) -> None:
        self.edges = tuple(edges)
        self._choose = choose
        main = [edge.target for edge in edges if edge.tag is None]
        self._main: CountingOutput = main[0] if len(main) == 1 else BroadcastingCollector(main)
        self._side: dict[str, list[CountingOutput]] = {}
        for edge in edges:
            if edge.tag is not None:
                self._side.setdefault(edge.tag, []).append(edge.target)
        self._elements = tuple(edge.target for edge in edges)
        self.side_records = 0
        self.current_watermark = NO_TIMESTAMP
        """The last emitted watermark (rule 13.8). With a single consumer, watermarks that were dropped while IDLE do
        not count, as in Flink."""
        self._idle = False

    @property
    def collector(self) -> Output:
        return self._main

    @property
    def records_out(self) -> int:
        """The number of user records emitted to the main output, each counted once (rule 5.9)."""
        return self._main.records_out

    @property
    def network_records_out(self) -> int:
        """The number of user records written to the network; a record for several outputs counts once (rule 13.4)."""
        written: dict[str | None, int] = {}
        for edge in self.edges:
            if isinstance(edge.target, RecordWriter):
                written[edge.tag] = max(written.get(edge.tag, 0), edge.target.records_out)
        return sum(written.values())

    def collect(self, value: Value, timestamp: int | None) -> None:
        self._main.collect(value, timestamp)

    def collect_side(self, tag: OutputTag, value: Value, timestamp: int | None) -> None:
        """Emits a record to a side output.

        Records of a tag without consumers are dropped and not counted, as in Flink.
        """
        targets = self._side.get(tag.tag_id)
        if targets is not None:
            self.side_records += 1
            for target in targets:
                target.collect(value, timestamp)

    def emit_watermark(self, timestamp: int) -> None:
        if not self._idle or len(self._elements) != 1:
            self.current_watermark = timestamp
        for target in self._elements:
            target.emit_watermark(timestamp)

    def emit_watermark_status(self, status: WatermarkStatus) -> None:
        self._idle = status is WatermarkStatus.IDLE
        for target in self._elements:
            target.emit_watermark_status(status)

    def emit_latency_marker(self, marker: LatencyMarker) -> None:
        if self._elements:
            self._elements[self._choose(len(self._elements))].emit_latency_marker(marker)
