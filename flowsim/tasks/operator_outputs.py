"""The outputs of operators in a chain. Flink: ChainingOutput, CopyingChainingOutput, BroadcastingOutputCollector
(5.8-5.10).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from flowsim.network.writers.record_writer import RecordWriter
from flowsim.operators.stream_operator import StreamOperator, Value
from flowsim.streamrecord.elements import LatencyMarker, OutputTag, WatermarkStatus
from flowsim.units import NO_TIMESTAMP
from flowsim.values.closed_set import SCALARS, checked_copy

Collect = Callable[[Value, int | None], None]


class ChainingOutput:
    """Passes elements to the next operator of the chain. Flink: ChainingOutput, CopyingChainingOutput.

    Watermarks are dropped while the announced status is IDLE, and only changes of status are forwarded (rule 5.8).
    ``copies``: mutable values are copied, as with object reuse off (rule 5.10), and a value outside the closed set
    raises ValueNotAllowed, as in a channel. Without ``copies`` values are not checked. ``counts``: records are counted
    here in addition to the receiving operator, so that a law can compare the two counts.
    """

    __slots__ = ("operator", "collect", "_status", "_records")

    def __init__(self, operator: StreamOperator, *, copies: bool, counts: bool) -> None:
        self.operator = operator
        self._status = WatermarkStatus.ACTIVE
        self._records: Callable[[], int] = lambda: operator.records_in
        collect: Collect = self._copying(operator.process_element) if copies else operator.process_element
        self.collect = self._counting(collect) if counts else collect

    @property
    def records_out(self) -> int:
        return self._records()

    def emit_watermark(self, timestamp: int) -> None:
        if self._status is WatermarkStatus.ACTIVE:
            self.operator.process_watermark(timestamp)

    def emit_watermark_status(self, status: WatermarkStatus) -> None:
        if status is not self._status:
            self._status = status
            self.operator.process_watermark_status(status)

    def emit_latency_marker(self, marker: LatencyMarker) -> None:
        self.operator.process_latency_marker(marker)

    def _copying(self, process: Collect) -> Collect:
        copy, immutable = checked_copy, SCALARS

        def collect(value: Value, timestamp: int | None) -> None:
            # A flat tuple is immutable, so it needs no copy. Its items are checked here as in the encoder, since a call
            # would cost more than the check. All other values go to ``copy``, which raises for values outside the set.
            if type(value) is tuple:
                for item in value:
                    kind = type(item)
                    if kind is int:
                        if item <= 9223372036854775807 and item >= -9223372036854775808:
                            continue
                    elif kind is str:
                        if item.isascii():
                            continue
                    elif kind in immutable:
                        continue
                    value = copy(value)
                    break
            elif type(value) is int:
                if value > 9223372036854775807 or value < -9223372036854775808:
                    copy(value)
            elif type(value) is str:
                if not value.isascii():
                    copy(value)
            elif type(value) not in immutable:
                value = copy(value)
            process(value, timestamp)

        return collect

    def _counting(self, collect: Collect) -> Collect:
        records = 0

        def counted(value: Value, timestamp: int | None) -> None:
            nonlocal records
            records += 1
            collect(value, timestamp)

        self._records = lambda: records
        return counted


class ElementTarget(Protocol):
    """A consumer of an operator's elements: the next operator of the chain, or a writer. Flink: Output."""

    @property
    def records_out(self) -> int: ...

    @property
    def collect(self) -> Collect: ...

    def emit_watermark(self, timestamp: int) -> None: ...

    def emit_watermark_status(self, status: WatermarkStatus) -> None: ...

    def emit_latency_marker(self, marker: LatencyMarker) -> None: ...


@dataclass(frozen=True, slots=True)
class OutputEdge:
    """An edge to one consumer of an operator: the next operator or a writer. ``tag`` is None for the main output."""

    tag: str | None
    target: ElementTarget


class OperatorOutput:
    """All consumers of one operator. Flink: BroadcastingOutputCollector.

    Main records go to the edges without a tag, tagged ones to the edges of their tag (rule 5.9); watermarks and
    statuses go to every edge, latency markers to one random edge (rule 8.20).
    """

    __slots__ = (
        "edges",
        "collect",
        "_side",
        "_elements",
        "_choose",
        "side_records",
        "_main_records",
        "current_watermark",
        "_idle",
    )

    def __init__(self, edges: Sequence[OutputEdge], choose: Callable[[int], int]) -> None:
        self.edges = tuple(edges)
        self._choose = choose
        main = [edge.target.collect for edge in edges if edge.tag is None]
        self._side: dict[str, list[Collect]] = {}
        for edge in edges:
            if edge.tag is not None:
                self._side.setdefault(edge.tag, []).append(edge.target.collect)
        self._elements = tuple(edge.target for edge in edges)
        self.side_records = 0
        self.current_watermark = NO_TIMESTAMP
        """The last emitted watermark (rule 13.8). With a single consumer, watermarks that were dropped while IDLE do
        not count, as in Flink."""
        self._idle = False
        self._main_records: Callable[[], int]
        if len(main) == 1:
            only = next(edge.target for edge in edges if edge.tag is None)
            self._main_records = lambda: only.records_out
            self.collect: Collect = main[0]
        else:
            self.collect = self._broadcasting_collect(main)

    @property
    def records_out(self) -> int:
        """The number of user records emitted to the main output, each counted once (rule 5.9)."""
        return self._main_records()

    @property
    def network_records_out(self) -> int:
        """The number of user records written to the network; a record for several outputs counts once (rule 13.4)."""
        written: dict[str | None, int] = {}
        for edge in self.edges:
            if isinstance(edge.target, RecordWriter):
                written[edge.tag] = max(written.get(edge.tag, 0), edge.target.records_out)
        return sum(written.values())

    def collect_side(self, tag: OutputTag, value: Value, timestamp: int | None) -> None:
        """Emits a record to a side output.

        Records of a tag without consumers are dropped and not counted, as in Flink.
        """
        targets = self._side.get(tag.tag_id)
        if targets is not None:
            self.side_records += 1
            for collect in targets:
                collect(value, timestamp)

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

    def _broadcasting_collect(self, targets: list[Collect]) -> Collect:
        records = 0

        def collect(value: Value, timestamp: int | None) -> None:
            nonlocal records
            records += 1
            for target in targets:
                target(value, timestamp)

        self._main_records = lambda: records
        return collect
