"""Which channel an adaptive writer selects for a given load of its subpartitions (rules 2.3, 2.4)."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from flowsim.network.buffers.network_buffer_pool import NetworkBufferPool
from flowsim.network.partitions.blocking_result_partition import BlockingResultPartition
from flowsim.network.partitions.pipelined_subpartition import PipelinedSubpartition
from flowsim.network.partitions.result_partition import ResultPartition
from flowsim.network.writers.adaptive_load_based_partitioner import AdaptiveLoadBasedPartitioner
from flowsim.network.writers.record_writer import NO_FLUSHER, RecordWriter
from flowsim.streamrecord.elements import LatencyMarker
from flowsim.streamrecord.events import CancelCheckpointMarker
from tests.support.network import Listener, NeverWaits

SEGMENT_BYTES = 16


def partition_with(*loads: int) -> ResultPartition:
    """A partition with so many bytes in each subpartition."""
    pool = NetworkBufferPool(200, SEGMENT_BYTES).create_buffer_pool(100, 200, len(loads))
    partition = ResultPartition(len(loads), pool, NeverWaits())
    for index, written in enumerate(loads):
        if written:
            partition.emit(bytes(written), index)
    return partition


@pytest.mark.parametrize(
    ("loads", "most", "selected"),
    [
        ([0, 0, 0], 4, [0, 1, 2]),
        ([5, 0, 5], 4, [1, 1]),
        ([9, 5, 4], 4, [2, 1, 2]),
        ([40, 8, 20], 4, [1, 1, 1]),
        ([5, 5, 5], 4, [0, 1, 2]),
        ([40, 40, 0, 0], 2, [0, 2, 3]),
        ([9, 8, 0, 7], 2, [1, 2, 3]),
        ([3], 4, [0, 0]),
    ],
    ids=["unused ones in turn", "the only unused one", "fewest bytes", "fewest buffers", "equal ones in turn",
         "beyond those compared", "the next ones only", "one channel"],
)  # fmt: skip
def test_record_goes_to_idlest_of_next_channels(loads: list[int], most: int, selected: list[int]) -> None:
    """``loads`` are bytes; each record adds one byte."""
    partition = partition_with(*loads)
    adaptive = AdaptiveLoadBasedPartitioner(partition, most)
    found = []
    for _ in selected:
        found.append(adaptive.select_channel(None))
        partition.emit(bytes(1), found[-1])
    assert found == selected


def test_channel_with_fewer_buffers_is_preferred_to_one_with_fewer_bytes() -> None:
    partition = partition_with(17, 15)
    assert [partition.pool.buffers_of(index) for index in (0, 1)] == [2, 1]
    view = partition.subpartition(0).create_read_view(Listener(lambda: None))
    polled = view.poll()
    assert polled is not None
    assert partition.subpartition(0).bytes_in_queue == 1
    assert AdaptiveLoadBasedPartitioner(partition, 4).select_channel(None) == 1, "the polled buffer still counts"
    polled.buffer.recycle()
    assert AdaptiveLoadBasedPartitioner(partition, 4).select_channel(None) == 0


def test_bytes_in_queue_are_written_minus_polled_with_events() -> None:
    partition = partition_with(5)
    subpartition = partition.subpartition(0)
    assert isinstance(subpartition, PipelinedSubpartition)
    view = subpartition.create_read_view(Listener(lambda: None))
    partition.flush(0)
    view.poll()
    assert subpartition.bytes_in_queue == 0, "the open buffer was read"
    partition.emit(bytes(3), 0)
    partition.broadcast_event(CancelCheckpointMarker(1))
    assert subpartition.bytes_in_queue == 3 + 12


def test_only_records_move_the_last_channel() -> None:
    partition = partition_with(0, 0, 0)
    adaptive = AdaptiveLoadBasedPartitioner(partition, 2)
    writer = RecordWriter(partition, adaptive, -1, 0, Random(1), None, NO_FLUSHER)
    writer.collect("a", None)
    assert adaptive.last == 0
    writer.emit_watermark(1)
    writer.emit_latency_marker(LatencyMarker(0, 1, 1))
    assert adaptive.last == 0


def test_file_of_blocking_exchange_counts_header_of_each_buffer(tmp_path: Path) -> None:
    pool = NetworkBufferPool(10, SEGMENT_BYTES).create_buffer_pool(3, 10, 2)
    partition = BlockingResultPartition(2, pool, NeverWaits(), tmp_path / "spill")
    partition.emit(bytes(20), 0)
    partition.emit(bytes(2), 1)
    assert [partition.subpartition(index).bytes_in_queue for index in (0, 1)] == [4 - 8, 2]
    assert AdaptiveLoadBasedPartitioner(partition, 2).select_channel(None) == 0
    partition.discard()
