"""Sorts the keyed inputs of a task in BATCH mode. Flink: SortingDataInput, MultiInputSortingDataInput."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush

from flowsim.failure_location import OperatorCall, note_record
from flowsim.operators.stream_operator import DataInputStatus, KeySelector, OperatorInput, StreamOperator, Value
from flowsim.streamrecord.elements import LatencyMarker, WatermarkStatus
from flowsim.tasks.inputs.network_input import (
    CanEmitBatchOfRecordsChecker,
    StreamTaskNetworkInput,
    StreamTaskNetworkOutput,
)
from flowsim.tasks.inputs.quick_sort import sorted_order
from flowsim.tasks.operator_chain import OperatorChain
from flowsim.units import NO_TIMESTAMP
from flowsim.values.java_key_bytes import sort_key

Place = tuple[bytes, int]
"""The place of a record in the order: its key, then its timestamp in ms (``NO_TIMESTAMP`` without one)."""


class SortingPhaseOutput(OperatorInput):
    """Collects the records of an input, and its highest watermark. Flink: SortingPhaseDataOutput."""

    __slots__ = ("records", "places", "watermark", "_key_selector", "_key_type")

    def __init__(self, key_selector: KeySelector, key_type: str | None) -> None:
        self.records: list[tuple[Value, int | None]] = []
        self.places: list[Place] = []
        self.watermark: int = NO_TIMESTAMP
        self._key_selector = key_selector
        self._key_type = key_type

    def process_element(self, value: Value, timestamp: int | None) -> None:
        key = sort_key(self._key_selector(value), self._key_type)
        self.places.append((key, NO_TIMESTAMP if timestamp is None else timestamp))
        self.records.append((value, timestamp))

    def process_watermark(self, timestamp: int) -> None:
        self.watermark = max(self.watermark, timestamp)

    def process_watermark_status(self, status: WatermarkStatus) -> None:
        """Drops the status."""

    def process_latency_marker(self, marker: LatencyMarker) -> None:
        """Drops the marker."""

    def sorted(self) -> list[tuple[Place, Value, int | None]]:
        """Returns the records in the order of their places, the last one first."""
        ranks = {place: rank for rank, place in enumerate(sorted(set(self.places)))}
        order = sorted_order([ranks[place] for place in self.places])
        return [(self.places[number], *self.records[number]) for number in reversed(order)]


class SortedHeads:
    """The next record of each sorted input of a task, and the current key. Flink: CommonContext.

    Heads with equal places are in the order in which they came.
    """

    __slots__ = ("unsorted", "unfinished", "_heads", "_added", "_key", "_operator", "_name")

    def __init__(self, inputs: int, operator: StreamOperator, name: str) -> None:
        self.unsorted = inputs
        self.unfinished = inputs
        self._heads: list[tuple[Place, int, int]] = []
        self._added = 0
        self._key: bytes | None = None
        self._operator = operator
        self._name = name

    def add(self, place: Place, index: int) -> None:
        heappush(self._heads, (place, self._added, index))
        self._added += 1

    @property
    def next_input(self) -> int | None:
        """The index of the input with the next record; None while an input is not sorted, and at the end."""
        return self._heads[0][2] if self._heads and not self.unsorted else None

    def take(self) -> None:
        """Removes the first head, whose key becomes the current one."""
        (key, _), _, _ = heappop(self._heads)
        if key != self._key:
            self._end_key()
            self._key = key

    def finish_input(self) -> None:
        """One input has no more records; after the last one the current key ends."""
        self.unfinished -= 1
        if not self.unfinished:
            self._end_key()

    def _end_key(self) -> None:
        if self._key is not None:
            with OperatorCall(self._name):
                self._operator.end_key()


class SortingInput:
    """Reads a keyed input to its end, then emits the records sorted by serialized key and timestamp.

    Of several inputs, each emits while it has the head. Flink: SortingDataInput, MultiInputSortingDataInput.
    """

    __slots__ = ("network", "output", "_phase", "_heads", "_index", "_can_emit_batch", "_sorted", "_is_finished")

    waits_for = "input"

    def __init__(
        self,
        network: StreamTaskNetworkInput,
        phase: SortingPhaseOutput,
        output: StreamTaskNetworkOutput,
        index: int,
        heads: SortedHeads,
        can_emit_batch: CanEmitBatchOfRecordsChecker,
    ) -> None:
        """``network``: reads into ``phase``; ``output``: the input of the operator."""
        self.network = network
        self.output = output
        self._phase = phase
        self._heads = heads
        self._index = index
        self._can_emit_batch = can_emit_batch
        self._sorted: list[tuple[Place, Value, int | None]] | None = None
        """The records that are left, the next one last; None: the input is not read to its end."""
        self._is_finished = False

    @property
    def records_in(self) -> int:
        return self.network.records_in

    @property
    def queued_buffers(self) -> int:
        return self.network.queued_buffers

    @property
    def current_watermark(self) -> int:
        return self.output.current_watermark

    @property
    def is_available(self) -> bool:
        return self.network.is_available if self._sorted is None or self._is_finished else not self._heads.unsorted

    def when_available(self, callback: Callable[[], None]) -> None:
        """Calls back when the network has data; an input that waits for others to be sorted is not called back."""
        if self._sorted is None or self._is_finished:
            self.network.when_available(callback)

    def emit_next(self) -> DataInputStatus:
        if self._is_finished:
            return self.network.emit_next()
        if self._sorted is not None:
            return self._emit(self._sorted)
        status = self.network.emit_next()
        if status is not DataInputStatus.END_OF_DATA:
            return status
        self._sorted = self._phase.sorted()
        self._heads.unsorted -= 1
        return self._next(self._sorted)

    def _emit(self, records: list[tuple[Place, Value, int | None]]) -> DataInputStatus:
        heads, index, output = self._heads, self._index, self.output
        while heads.next_input == index:
            heads.take()
            _, value, timestamp = records.pop()
            try:
                output.operator.process_element(value, timestamp)
            except BaseException as error:
                note_record(error, output.name, value, timestamp)
                raise
            status = self._next(records)
            if status is not DataInputStatus.MORE_AVAILABLE or not self._can_emit_batch.check():
                return status
        return DataInputStatus.NOTHING_AVAILABLE

    def _next(self, records: list[tuple[Place, Value, int | None]]) -> DataInputStatus:
        """Adds the head of this input; without one the data of the input ends."""
        if records:
            self._heads.add(records[-1][0], self._index)
            is_next = self._heads.next_input == self._index
            return DataInputStatus.MORE_AVAILABLE if is_next else DataInputStatus.NOTHING_AVAILABLE
        self._is_finished = True
        self._heads.finish_input()
        watermark, output = self._phase.watermark, self.output
        if watermark > NO_TIMESTAMP:
            # It was recorded when the valve emitted it.
            output.current_watermark = watermark
            with OperatorCall(output.name):
                output.operator.process_watermark(watermark)
        return DataInputStatus.END_OF_DATA

    def end_of_input_with_drain(self, chain: OperatorChain) -> None:
        self.network.end_of_input_with_drain(chain)

    def close(self) -> None:
        self.network.close()
