"""Buffers have the size that their reader requests, records of any length pass, and after the end none does."""

from __future__ import annotations

import pytest

from flowsim.network.buffers.buffer_builder import BufferBuilder
from flowsim.network.buffers.network_buffer_pool import NetworkBufferPool
from flowsim.network.errors import IllegalState
from flowsim.network.partitions.pipelined_subpartition import PipelinedSubpartition
from flowsim.network.partitions.result_partition import ResultPartition
from flowsim.streamrecord.events import EndOfData, StopMode
from tests.support.network import NeverWaits


def partition(
    count: int = 1, segment_bytes: int = 16, buffers: int = 9, buffer_size_bytes: int = 2**31 - 1
) -> tuple[ResultPartition, list[PipelinedSubpartition]]:
    pool = NetworkBufferPool(40, segment_bytes).create_buffer_pool(count + 1, buffers, count)
    made = ResultPartition(count, pool, NeverWaits(), buffer_size=buffer_size_bytes)
    subpartitions = []
    for index in range(count):
        subpartition = made.subpartition(index)
        assert isinstance(subpartition, PipelinedSubpartition)
        subpartitions.append(subpartition)
    return made, subpartitions


def pieces(subpartition: PipelinedSubpartition) -> list[bytes]:
    found = []
    while (polled := subpartition.poll()) is not None:
        found.append(polled.buffer.payload)
        polled.buffer.recycle()
    return found


def test_buffer_ends_at_size_requested_by_reader() -> None:
    """Rules 5.17, 6.24: the requested size applies from the next buffer on."""
    made, (subpartition,) = partition()
    made.emit(b"1234", 0)
    subpartition.notify_new_buffer_size(6)
    for _ in range(5):
        made.emit(b"1234", 0)
    made.flush_all()
    assert pieces(subpartition) == [b"1234123412341234", b"123412", b"34"]


def test_record_that_opens_buffer_fits_despite_smaller_requested_size() -> None:
    made, (subpartition,) = partition(buffer_size_bytes=2)
    made.emit(b"twelve bytes", 0)
    made.emit(b"x", 0)
    made.emit(b"a record of twenty-one", 0)
    assert pieces(subpartition) == [b"twelve bytes", b"xa", b" record of twent", b"y-one"]


def test_broadcast_buffer_has_smallest_requested_size() -> None:
    made, subpartitions = partition(count=3)
    for subpartition, buffer_size_bytes in zip(subpartitions, (9, 5, 12), strict=True):
        subpartition.notify_new_buffer_size(buffer_size_bytes)
    for _ in range(4):
        made.broadcast(b"123")
    assert [pieces(subpartition) for subpartition in subpartitions] == [[b"12312", b"31231", b"23"]] * 3


def test_limited_buffer_grows_instead_of_blocking_writer() -> None:
    """Rule 5.17: by the record that would fill it and one byte."""
    made, (subpartition,) = partition(buffers=2, buffer_size_bytes=4)
    made.emit(b"123", 0)
    held = made.pool.request_builder(0)
    assert isinstance(held, BufferBuilder)
    assert not made.pool.available
    made.emit(b"45", 0)
    made.emit(b"67", 0)
    builder = made.unicast[0]
    assert builder is not None
    assert (builder.capacity, pieces(subpartition)) == (8, [b"1234567"])


def test_latency_marker_of_broadcast_writer_uses_unicast_buffer() -> None:
    """Rules 5.6, 5.12: unicast and broadcast buffers are never open together."""
    made, subpartitions = partition(count=2)
    made.broadcast(b"all")
    made.emit(b"one", 1)
    made.broadcast(b"all")
    made.flush_all()
    assert [pieces(subpartition) for subpartition in subpartitions] == [[b"all", b"all"], [b"all", b"one", b"all"]]


def test_finished_bytes_and_buffers_count_per_subpartition() -> None:
    """Rule 5.14."""
    made, _ = partition(count=3)
    made.emit(b"1234", 0)
    assert (made.buffers_out, made.bytes_out) == (0, 0)
    made.broadcast(b"12345")
    assert (made.buffers_out, made.bytes_out) == (1, 4)
    made.broadcast_event(EndOfData(StopMode.DRAIN))
    assert (made.buffers_out, made.bytes_out) == (4, 19)


def test_length_prefix_may_span_two_buffers() -> None:
    """Rule 5.11, with the four bytes of length that Flink writes before each record."""
    made, (subpartition,) = partition(segment_bytes=3)
    frame = (5).to_bytes(4, "big") + b"value"
    made.emit(frame, 0)
    made.emit(frame, 0)
    made.flush_all()
    assert pieces(subpartition) == [(frame * 2)[at : at + 3] for at in range(0, 18, 3)]


def test_writing_after_end_is_refused() -> None:
    made, _ = partition()
    made.notify_end_of_data(StopMode.DRAIN)
    made.notify_end_of_data(StopMode.DRAIN)
    made.finish()
    assert made.queued_buffers == 2
    for write in (lambda: made.emit(b"x", 0), lambda: made.broadcast(b"x"), made.finish):
        with pytest.raises(IllegalState):
            write()


def test_closed_partition_keeps_queued_buffers_and_returns_the_rest() -> None:
    made, (subpartition,) = partition()
    made.emit(b"data", 0)
    made.finish()
    made.close()
    assert (made.pool.requested, made.pool.destroyed) == (1, True)
    assert pieces(subpartition) == [b"data", b""]
    assert made.pool.requested == 0
