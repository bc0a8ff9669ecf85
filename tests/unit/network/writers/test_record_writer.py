"""Which elements a writer sends where, and when it flushes them (section 5.A)."""

from __future__ import annotations

from functools import partial
from random import Random

import pytest

from flowsim.network.buffers.network_buffer_pool import NetworkBufferPool
from flowsim.network.partitions.pipelined_subpartition import PipelinedSubpartition
from flowsim.network.partitions.result_partition import ResultPartition
from flowsim.network.writers.partitioner import BroadcastPartitioner, CustomPartitionerWrapper, StreamPartitioner
from flowsim.network.writers.record_writer import RecordWriter
from flowsim.streamrecord.codec import ElementDecoder
from flowsim.streamrecord.elements import LatencyMarker, WatermarkStatus
from flowsim.streamrecord.events import Alignment, CheckpointBarrier, Event, StopMode
from tests.support.network import Listener, NeverWaits


class Bench:
    """A writer to three subpartitions; records are numbers and go where they say."""

    def __init__(self, timeout_ms: int, *, broadcast: bool = False, segment_bytes: int = 64) -> None:
        self.told: list[int] = []
        self.armed = 0
        pool = NetworkBufferPool(30, segment_bytes).create_buffer_pool(4, 20, 3)
        self.partition = ResultPartition(3, pool, NeverWaits())
        self.subpartitions: list[PipelinedSubpartition] = []
        for index in range(3):
            subpartition = self.partition.subpartition(index)
            assert isinstance(subpartition, PipelinedSubpartition)
            subpartition.create_read_view(Listener(partial(self.told.append, index)))
            self.subpartitions.append(subpartition)
        by_number: StreamPartitioner = CustomPartitionerWrapper(
            3, lambda key, count: int(str(key)) % count, lambda v: v
        )
        partitioner = BroadcastPartitioner(3) if broadcast else by_number
        self.writer = RecordWriter(self.partition, partitioner, timeout_ms, 0, Random(1), None, self)

    def on_data(self) -> None:
        """As the flusher of the writer."""
        self.armed += 1

    def read(self, index: int) -> list[object]:
        """Elements and events of one subpartition, whatever was flushed."""
        found: list[object] = []
        data = b""
        while (polled := self.subpartitions[index].poll()) is not None:
            if polled.buffer.event is not None:
                found += self._decoded(data)
                data = b""
                found.append(polled.buffer.event)
            else:
                data += polled.buffer.payload
            polled.buffer.recycle()
        return found + self._decoded(data)

    def _decoded(self, data: bytes) -> list[object]:
        decoder = ElementDecoder()
        decoder.feed(data)
        elements = list(decoder)
        assert decoder.take_tail() == b""
        return list(elements)

    def flushed(self) -> list[bool]:
        return [subpartition.flush_requested for subpartition in self.subpartitions]


def test_timeout_zero_flushes_only_subpartition_of_record() -> None:
    bench = Bench(0)
    bench.writer.collect(1, 10)
    bench.writer.collect(2, 10)
    assert (bench.told, bench.flushed()) == ([1, 2], [False, True, True])


def test_timeout_zero_flushes_all_after_watermark_or_broadcast() -> None:
    selector, broadcast = Bench(0), Bench(0, broadcast=True)
    selector.writer.emit_watermark(5)
    broadcast.writer.collect(1, 10)
    assert selector.flushed() == broadcast.flushed() == [True] * 3
    assert selector.told == broadcast.told == [0, 1, 2]


def test_timeout_minus_one_sends_only_full_buffers_and_events() -> None:
    bench = Bench(-1, segment_bytes=8)
    bench.writer.collect(0, None)
    assert (bench.told, bench.flushed()) == ([], [False] * 3)
    for _ in range(6):
        bench.writer.collect(0, None)
    assert bench.told == [0]
    bench.writer.notify_end_of_data(StopMode.DRAIN)
    assert (bench.told, bench.flushed()) == ([0, 1, 2], [False] * 3)


def test_positive_timeout_leaves_flush_to_flusher() -> None:
    bench = Bench(100)
    bench.writer.collect(0, None)
    assert (bench.told, bench.armed > 0) == ([], True)
    bench.writer.flush_all()
    assert bench.told == [0]


def test_latency_marker_of_broadcast_writer_reaches_one_subpartition() -> None:
    """Rule 5.6."""
    bench = Bench(-1, broadcast=True)
    bench.writer.collect(1, 10)
    bench.writer.emit_latency_marker(LatencyMarker(3, 0, 0))
    bench.writer.collect(2, 10)
    read = [len(bench.read(index)) for index in range(3)]
    assert sorted(read) == [2, 2, 3]


def test_random_latency_markers_reach_every_subpartition() -> None:
    bench = Bench(-1)
    for number in range(60):
        bench.writer.emit_latency_marker(LatencyMarker(number, 0, 0))
    read = [len(bench.read(index)) for index in range(3)]
    assert (sum(read), min(read) > 5) == (60, True)


def test_idle_status_drops_watermarks_and_only_changes_are_sent() -> None:
    """Rule 5.8."""
    bench = Bench(-1)
    bench.writer.emit_watermark_status(WatermarkStatus.ACTIVE)
    bench.writer.emit_watermark(1)
    bench.writer.emit_watermark_status(WatermarkStatus.IDLE)
    bench.writer.emit_watermark_status(WatermarkStatus.IDLE)
    bench.writer.emit_watermark(2)
    bench.writer.emit_watermark_status(WatermarkStatus.ACTIVE)
    bench.writer.emit_watermark(3)
    assert len(bench.read(0)) == len(bench.read(1)) == len(bench.read(2)) == 4


@pytest.mark.parametrize("alignment", [Alignment.ALIGNED, Alignment.UNALIGNED])
def test_barrier_is_sent_to_all_subpartitions_behind_or_before_data(alignment: Alignment) -> None:
    """Rules 5.7, 5.28."""
    bench = Bench(-1)
    bench.writer.collect(1, 10)
    barrier: Event = CheckpointBarrier(1, 0, alignment)
    bench.writer.broadcast_event(barrier)
    read = bench.read(1)
    assert read.index(barrier) == (1 if alignment is Alignment.ALIGNED else 0)
    assert bench.read(0) == bench.read(2) == [barrier]


def test_broadcast_record_counts_once_and_takes_one_segment() -> None:
    """Rule 5.12."""
    bench = Bench(-1, broadcast=True)
    bench.writer.collect("for all", 10)
    assert (bench.writer.records_out, bench.partition.pool.used_segments) == (1, 1)
