"""Segments are counted by readers and writers, and recycled exactly once (I5.f)."""

from __future__ import annotations

import pytest

from flowsim.errors import InvariantViolation
from flowsim.network.buffers.buffer import EventBuffer, MemorySegment, NetworkBuffer
from flowsim.network.buffers.buffer_builder import BufferBuilder
from flowsim.network.buffers.network_buffer_pool import NetworkBufferPool
from flowsim.network.errors import InsufficientNetworkBuffers
from flowsim.network.partitions.pipelined_subpartition import PipelinedSubpartition
from flowsim.network.partitions.result_partition import ResultPartition
from flowsim.streamrecord.events import EndOfData, EndOfPartitionEvent, StopMode
from tests.support.network import Listener, NeverWaits, Recycled


def test_buffer_recycled_more_often_than_retained_is_refused() -> None:
    back = Recycled()
    buffer = NetworkBuffer(MemorySegment(8), back)
    buffer.retain()
    buffer.recycle()
    assert back.segments == []
    buffer.recycle()
    assert len(back.segments) == 1
    with pytest.raises(InvariantViolation):
        buffer.recycle()


def test_segment_is_recycled_after_builder_copies_and_slices_are_closed() -> None:
    back = Recycled()
    builder = BufferBuilder(MemorySegment(8), back)
    consumer = builder.create_consumer_from_beginning()
    copy = consumer.copy()
    builder.append_and_commit(b"abc")
    slices = [consumer.build(), copy.build()]
    builder.close()
    consumer.close()
    copy.close()
    slices[0].recycle()
    assert back.segments == []
    slices[1].recycle()
    assert len(back.segments) == 1
    assert back.segments[0].data == b""


def test_broadcast_takes_one_segment_until_last_subpartition_recycles() -> None:
    """Rule 5.12."""
    pool = NetworkBufferPool(8, 4).create_buffer_pool(4, 8, 3)
    partition = ResultPartition(3, pool, NeverWaits())
    partition.broadcast(b"abcd")
    assert (pool.used_segments, partition.queued_buffers) == (1, 3)
    partition.flush_all()
    for index in range(3):
        assert pool.used_segments == 1
        polled = partition.subpartition(index).poll()
        assert polled is not None
        assert polled.buffer.payload == b"abcd"
        polled.buffer.recycle()
    assert pool.used_segments == 0


def test_event_is_behind_data_of_every_subpartition_and_takes_no_segment() -> None:
    """Rule 5.13."""
    pool = NetworkBufferPool(8, 64).create_buffer_pool(3, 8, 2)
    partition = ResultPartition(2, pool, NeverWaits())
    partition.emit(b"a", 0)
    partition.broadcast_event(EndOfData(StopMode.DRAIN))
    assert (pool.used_segments, [len(partition.subpartition(i).buffers) for i in (0, 1)]) == (1, [2, 1])
    partition.emit(b"b", 0)
    taken = [partition.subpartition(0).poll() for _ in range(3)]
    assert [each.buffer.payload for each in taken if each is not None] == [b"a", b"", b"b"]


def test_released_partition_recycles_all_segments() -> None:
    """Rule 4.26: open, resting and queued buffers, unicast and broadcast."""
    network = NetworkBufferPool(20, 4)
    pool = network.create_buffer_pool(4, 20, 3)
    partition = ResultPartition(3, pool, NeverWaits())
    partition.emit(b"abcdef", 0)
    partition.emit(b"g", 1)
    partition.detach_open_builders()
    partition.emit(b"h", 2)
    partition.release()
    assert (pool.used_segments, network.available_segments) == (0, 20)
    other = network.create_buffer_pool(4, 20, 3)
    broadcast = ResultPartition(3, other, NeverWaits())
    broadcast.broadcast(b"abcdef")
    broadcast.release()
    assert (other.used_segments, network.available_segments) == (0, 20)


def test_detached_builder_continues_where_it_stopped() -> None:
    pool = NetworkBufferPool(8, 64).create_buffer_pool(2, 8, 1)
    partition = ResultPartition(1, pool, NeverWaits())
    partition.emit(b"a", 0)
    builder = partition.unicast[0]
    partition.detach_open_builders()
    assert partition.unicast == [None]
    partition.emit(b"b", 0)
    assert partition.unicast == [builder]
    partition.detach_open_builders()
    partition.broadcast_event(EndOfData(StopMode.DRAIN))
    polled = partition.subpartition(0).poll()
    assert polled is not None
    assert polled.buffer.payload == b"ab"
    assert pool.used_segments == 1


def test_serialized_event_sizes_equal_flinks() -> None:
    assert [len(EventBuffer(e)) for e in (EndOfData(StopMode.DRAIN), EndOfPartitionEvent())] == [5, 4]


def test_second_read_view_is_refused() -> None:
    """Rule 5.31."""
    subpartition = PipelinedSubpartition(0)
    subpartition.create_read_view(Listener())
    with pytest.raises(InvariantViolation, match="consumed already"):
        subpartition.create_read_view(Listener())


def test_pool_beyond_guaranteed_memory_is_refused() -> None:
    """Rule 5.39."""
    network = NetworkBufferPool(5, 8)
    network.reserve(2)
    network.create_buffer_pool(2, 10)
    with pytest.raises(
        InsufficientNetworkBuffers, match="required 2, but only 1 of 5 are available; raise network_buffers"
    ):
        network.create_buffer_pool(2, 10)


def test_exclusive_buffers_are_no_overdraft_of_other_pools() -> None:
    """Rules 5.36, 6.1, law C.7: all pools together never hold more than the memory there is."""
    network = NetworkBufferPool(5, 8)
    network.reserve(3)
    pool = network.create_buffer_pool(2, 2, 1, overdraft=20)
    assert [pool.request_builder(0) is None for _ in range(3)] == [False, False, True]
    assert network.available_segments == 0


def test_callbacks_run_when_pool_becomes_available_or_is_destroyed() -> None:
    pool = NetworkBufferPool(2, 8).create_buffer_pool(2, 2, 1)
    reported: list[str] = []
    first, second = pool.request_builder(0), pool.request_builder(0)
    assert first is not None
    assert second is not None
    assert not pool.available
    pool.on_available.append(lambda: reported.append("free"))
    first.close()
    assert reported == ["free"]
    pool.request_builder(0)
    pool.on_available.append(lambda: reported.append("destroyed"))
    pool.lazy_destroy()
    assert reported == ["free", "destroyed"]
