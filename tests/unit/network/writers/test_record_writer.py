"""The target subpartitions of each element, and the flushes of a writer (section 5.A)."""

from __future__ import annotations

from functools import partial
from random import Random

import pytest

from flowsim.network.buffers.network_buffer_pool import NetworkBufferPool
from flowsim.network.partitions.pipelined_subpartition import PipelinedSubpartition
from flowsim.network.partitions.result_partition import ResultPartition
from flowsim.network.writers.partitioner import BroadcastPartitioner, CustomPartitionerWrapper, StreamPartitioner
from flowsim.network.writers.record_writer import RecordWriter
from flowsim.streamrecord.checkpoint_options import CheckpointOptions
from flowsim.streamrecord.codec import ElementDecoder
from flowsim.streamrecord.elements import LatencyMarker, WatermarkStatus
from flowsim.streamrecord.events import CheckpointBarrier, Event, StopMode
from tests.support.barriers import ALIGNED, UNALIGNED
from tests.support.network import Listener, NeverWaits


class WriterHarness:
    """A writer to three subpartitions; records are numbers and go where they say."""

    def __init__(self, timeout_ms: int, *, broadcast: bool = False, segment_bytes: int = 64) -> None:
        self.reported: list[int] = []
        self.armed = 0
        pool = NetworkBufferPool(30, segment_bytes).create_buffer_pool(4, 20, 3)
        self.partition = ResultPartition(3, pool, NeverWaits())
        self.subpartitions: list[PipelinedSubpartition] = []
        for index in range(3):
            subpartition = self.partition.subpartition(index)
            assert isinstance(subpartition, PipelinedSubpartition)
            subpartition.create_read_view(Listener(partial(self.reported.append, index)))
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
    harness = WriterHarness(0)
    harness.writer.collect(1, 10)
    harness.writer.collect(2, 10)
    assert (harness.reported, harness.flushed()) == ([1, 2], [False, True, True])


def test_timeout_zero_flushes_all_after_watermark_or_broadcast() -> None:
    selector, broadcast = WriterHarness(0), WriterHarness(0, broadcast=True)
    selector.writer.emit_watermark(5)
    broadcast.writer.collect(1, 10)
    assert selector.flushed() == broadcast.flushed() == [True] * 3
    assert selector.reported == broadcast.reported == [0, 1, 2]


def test_timeout_minus_one_sends_only_full_buffers_and_events() -> None:
    harness = WriterHarness(-1, segment_bytes=8)
    harness.writer.collect(0, None)
    assert (harness.reported, harness.flushed()) == ([], [False] * 3)
    for _ in range(6):
        harness.writer.collect(0, None)
    assert harness.reported == [0]
    harness.writer.notify_end_of_data(StopMode.DRAIN)
    assert (harness.reported, harness.flushed()) == ([0, 1, 2], [False] * 3)


def test_positive_timeout_leaves_flush_to_flusher() -> None:
    harness = WriterHarness(100)
    harness.writer.collect(0, None)
    assert (harness.reported, harness.armed > 0) == ([], True)
    harness.writer.flush_all()
    assert harness.reported == [0]


def test_latency_marker_of_broadcast_writer_reaches_one_subpartition() -> None:
    """Rule 5.6."""
    harness = WriterHarness(-1, broadcast=True)
    harness.writer.collect(1, 10)
    harness.writer.emit_latency_marker(LatencyMarker(3, 0, 0))
    harness.writer.collect(2, 10)
    read = [len(harness.read(index)) for index in range(3)]
    assert sorted(read) == [2, 2, 3]


def test_random_latency_markers_reach_every_subpartition() -> None:
    harness = WriterHarness(-1)
    for number in range(60):
        harness.writer.emit_latency_marker(LatencyMarker(number, 0, 0))
    read = [len(harness.read(index)) for index in range(3)]
    assert (sum(read), min(read) > 5) == (60, True)


def test_idle_status_drops_watermarks_and_only_changes_are_sent() -> None:
    """Rule 5.8."""
    harness = WriterHarness(-1)
    harness.writer.emit_watermark_status(WatermarkStatus.ACTIVE)
    harness.writer.emit_watermark(1)
    harness.writer.emit_watermark_status(WatermarkStatus.IDLE)
    harness.writer.emit_watermark_status(WatermarkStatus.IDLE)
    harness.writer.emit_watermark(2)
    harness.writer.emit_watermark_status(WatermarkStatus.ACTIVE)
    harness.writer.emit_watermark(3)
    assert len(harness.read(0)) == len(harness.read(1)) == len(harness.read(2)) == 4


@pytest.mark.parametrize("alignment", [ALIGNED, UNALIGNED])
def test_barrier_is_sent_to_all_subpartitions_behind_or_before_data(alignment: CheckpointOptions) -> None:
    """Rules 5.7, 5.28."""
    harness = WriterHarness(-1)
    harness.writer.collect(1, 10)
    barrier: Event = CheckpointBarrier(1, 0, alignment)
    harness.writer.broadcast_event(barrier)
    read = harness.read(1)
    assert read.index(barrier) == (1 if alignment is ALIGNED else 0)
    assert harness.read(0) == harness.read(2) == [barrier]


def test_broadcast_record_counts_once_and_takes_one_segment() -> None:
    """Rule 5.12."""
    harness = WriterHarness(-1, broadcast=True)
    harness.writer.collect("for all", 10)
    assert (harness.writer.records_out, harness.partition.pool.used_segments) == (1, 1)
