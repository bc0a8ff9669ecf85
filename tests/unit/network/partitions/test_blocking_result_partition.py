"""A blocking partition is written to a file, readable any number of times after its end, and deleted (rule 5.43)."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowsim.network.buffers.data_type import DataType
from flowsim.network.buffers.local_buffer_pool import UNLIMITED
from flowsim.network.buffers.network_buffer_pool import NetworkBufferPool
from flowsim.network.errors import IllegalState
from flowsim.network.partitions.blocking_result_partition import BlockingResultPartition
from flowsim.network.partitions.result_subpartition import SubpartitionView
from flowsim.streamrecord.events import EndOfData, EndOfPartitionEvent, StopMode
from tests.support.network import Connector, Listener, NeverWaits


def partition(
    file: Path, subpartitions: int = 2, segment_bytes: int = 8, connector: Connector | None = None
) -> BlockingResultPartition:
    pool = NetworkBufferPool(16, segment_bytes).create_buffer_pool(subpartitions + 1, UNLIMITED, subpartitions)
    return BlockingResultPartition(subpartitions, pool, NeverWaits(), file, connector=connector)


def view(output: BlockingResultPartition, index: int) -> SubpartitionView:
    return output.subpartition(index).create_read_view(Listener())


def everything(reader: SubpartitionView) -> list[object]:
    """Bytes and events in the order in which they are read."""
    found: list[object] = []
    while (polled := reader.poll()) is not None:
        found.append(polled.buffer.payload if polled.buffer.event is None else polled.buffer.event)
        polled.buffer.recycle()
    return found


def test_partition_is_readable_only_after_finish(tmp_path: Path) -> None:
    connector = Connector()
    output = partition(tmp_path / "spill", connector=connector)
    output.emit(b"a record that spans buffers", 0)
    output.notify_end_of_data(StopMode.DRAIN)
    with pytest.raises(IllegalState):
        view(output, 0)
    assert connector.readable == []
    output.finish()
    assert connector.readable == [0, 1]
    ends = [EndOfData(StopMode.DRAIN), EndOfPartitionEvent()]
    assert everything(view(output, 0)) == [b"a record", b" that sp", b"ans buff", b"ers", *ends]
    assert everything(view(output, 1)) == ends


def test_every_reader_reads_from_the_beginning(tmp_path: Path) -> None:
    output = partition(tmp_path / "spill", subpartitions=1)
    output.emit(b"12345678", 0)
    output.emit(b"9", 0)
    output.finish()
    first, second = view(output, 0), view(output, 0)
    assert first.poll() is not None
    assert everything(second) == [b"12345678", b"9", EndOfPartitionEvent()]
    assert everything(first) == [b"9", EndOfPartitionEvent()]


def test_poll_returns_backlog_next_type_and_sequence_number(tmp_path: Path) -> None:
    output = partition(tmp_path / "spill", subpartitions=1)
    output.emit(b"12345678", 0)
    output.emit(b"9", 0)
    output.finish()
    reader = view(output, 0)
    assert (reader.reported_backlog, reader.is_available(True), reader.is_available(False)) == (2, True, False)
    reported = [(p.backlog, p.next_type, p.sequence_number, p.whole) for p in iter(reader.poll, None) if p is not None]
    assert reported == [
        (1, DataType.DATA_BUFFER, 0, True),
        (0, DataType.END_OF_PARTITION, 1, True),
        (0, DataType.NONE, 2, True),
    ]
    assert not reader.is_available(True)


def test_event_at_head_is_available_without_credit(tmp_path: Path) -> None:
    output = partition(tmp_path / "spill", subpartitions=1)
    output.finish()
    assert view(output, 0).is_available(False)


def test_broadcast_is_spilled_per_subpartition_and_segment_recycled(tmp_path: Path) -> None:
    output = partition(tmp_path / "spill", subpartitions=3)
    output.broadcast(b"to all of you")
    output.finish()
    assert [everything(view(output, index))[:-1] for index in range(3)] == [[b"to all o", b"f you"]] * 3
    assert (output.pool.used_segments, output.spilled_bytes) == (0, 39)


def test_producer_is_not_blocked_by_reader(tmp_path: Path) -> None:
    """A thousand times what its pool can hold: only the buffer being filled is in memory."""
    output = partition(tmp_path / "spill", subpartitions=1)
    for _ in range(16_000):
        output.emit(b"x", 0)
    assert output.pool.used_segments <= 2
    output.finish()
    assert b"".join(piece for piece in everything(view(output, 0)) if isinstance(piece, bytes)) == b"x" * 16_000


def test_file_is_deleted_after_release_and_last_reader(tmp_path: Path) -> None:
    output = partition(tmp_path / "spill")
    output.emit(b"data", 0)
    output.finish()
    reader = view(output, 0)
    assert (tmp_path / "spill").stat().st_size == 4
    output.release()
    assert reader.poll() is not None
    reader.release()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("finished", [False, True], ids=["in the middle", "after the end"])
def test_discard_deletes_file_despite_readers(tmp_path: Path, finished: bool) -> None:
    output = partition(tmp_path / "spill")
    output.emit(b"data of more than one buffer", 0)
    if finished:
        output.finish()
        view(output, 0).poll()
    output.discard()
    output.discard()
    assert list(tmp_path.iterdir()) == []
    assert output.pool.used_segments == 0


def test_partition_without_data_makes_no_file(tmp_path: Path) -> None:
    output = partition(tmp_path / "spill")
    output.finish()
    assert list(tmp_path.iterdir()) == []


def test_flush_spills_data_and_starts_new_buffer(tmp_path: Path) -> None:
    output = partition(tmp_path / "spill", subpartitions=1)
    output.emit(b"ab", 0)
    output.flush(0)
    output.emit(b"cd", 0)
    output.flush_all()
    assert output.spilled_bytes == 4
    output.finish()
    assert everything(view(output, 0)) == [b"ab", b"cd", EndOfPartitionEvent()]
