"""The turns of readers on one connection (rules 6.13 to 6.16), on a wire that takes its time."""

from __future__ import annotations

from collections.abc import Callable

from flowsim.network.buffers.buffer import MemorySegment
from flowsim.network.buffers.buffer_builder import BufferBuilder
from flowsim.network.partitions.pipelined_subpartition import PipelinedSubpartition
from flowsim.network.partitions.result_subpartition import Buffer
from flowsim.network.senders.partition_request_queue import PartitionRequestQueue
from flowsim.network.senders.view_reader import BufferResponse, ViewReader
from flowsim.streamrecord.events import Alignment, CheckpointBarrier


class NoReceiver:
    """What the wire below does not need: it notes what it takes itself."""

    def on_buffer(self, buffer: Buffer, sequence_number: int, backlog: int) -> None:
        raise AssertionError("nothing arrives here")

    def on_sender_backlog(self, backlog: int) -> None:
        raise AssertionError("nothing arrives here")


class SlowWire:
    """Takes buffers while it is writable; each is written when the test says so."""

    def __init__(self) -> None:
        self.is_writable = True
        self.sent: list[tuple[int, int]] = []
        self.announced: list[int] = []
        self.unwritten: list[Callable[[], None]] = []

    def send(self, reader: ViewReader, response: BufferResponse, on_written: Callable[[], None]) -> None:
        self.sent.append((reader.channel_id, response.sequence_number))
        self.unwritten.append(on_written)

    def send_backlog(self, reader: ViewReader, backlog: int) -> None:
        self.announced.append(backlog)

    def write(self) -> None:
        self.unwritten.pop(0)()


class Connection:
    """Readers of finished data buffers that share one slow wire."""

    def __init__(self, buffers: list[int], credit: int = 9) -> None:
        self.wire = SlowWire()
        self.queue = PartitionRequestQueue(self.wire)
        self.subpartitions = [PipelinedSubpartition(index) for index in range(len(buffers))]
        self.readers = [ViewReader(s, NoReceiver(), credit, s.index, None) for s in self.subpartitions]
        for subpartition, count in zip(self.subpartitions, buffers, strict=True):
            for _ in range(count):
                self.add(subpartition)
        for subpartition, reader in zip(self.subpartitions, self.readers, strict=True):
            subpartition.create_read_view(lambda reader=reader: self.queue.notify(reader))  # type: ignore[misc]

    def add(self, subpartition: PipelinedSubpartition) -> None:
        builder = BufferBuilder(MemorySegment(4), lambda segment: None)
        builder.append_and_commit(b"abcd")
        builder.finish()
        subpartition.add(builder.create_consumer_from_beginning())
        builder.close()
        subpartition.flush()

    def notify_all(self) -> None:
        for reader in self.readers:
            self.queue.notify(reader)


def test_the_next_buffer_leaves_when_the_one_before_is_written() -> None:
    """Rule 6.15: and readers take turns, one buffer each."""
    connection = Connection([3, 2])
    connection.notify_all()  # The first reader queues again behind its first buffer, before the second one joins.
    wire = connection.wire
    assert wire.sent == [(0, 0)]
    for expected in ((0, 1), (1, 0), (0, 2), (1, 1)):
        wire.write()
        assert wire.sent[-1] == expected
    wire.write()
    assert (len(wire.sent), [reader.registered for reader in connection.readers]) == (5, [False, False])


def test_a_reader_that_joins_an_empty_queue_is_served_while_a_buffer_is_still_being_written() -> None:
    """Rule 6.15: only the wire itself can refuse."""
    connection = Connection([1, 1])
    connection.queue.notify(connection.readers[0])
    connection.queue.notify(connection.readers[1])
    assert connection.wire.sent == [(0, 0), (1, 0)]


def test_a_wire_that_is_not_writable_holds_everything_until_it_is() -> None:
    connection = Connection([1, 1])
    wire = connection.wire
    wire.is_writable = False
    connection.notify_all()
    assert (wire.sent, [reader.registered for reader in connection.readers]) == ([], [True, True])
    wire.is_writable = True
    connection.queue.on_writable()
    assert wire.sent == [(0, 0)]
    wire.write()
    assert wire.sent == [(0, 0), (1, 0)]


def test_without_exclusive_buffers_the_backlog_is_announced_and_a_resume_voids_the_credits() -> None:
    """Rule 6.13."""
    connection = Connection([2], credit=0)
    reader, queue, wire = connection.readers[0], connection.queue, connection.wire
    queue.notify(reader)
    assert wire.announced == [2]
    reader.add_credit(3)
    connection.subpartitions[0].add_event(CheckpointBarrier(1, 1, Alignment.ALIGNED))
    queue.notify(reader)
    for _ in range(3):
        wire.write()
    assert (wire.sent, reader.credits, connection.subpartitions[0].blocked) == ([(0, 0), (0, 1), (0, 2)], 1, True)
    connection.add(connection.subpartitions[0])
    reader.resume_consumption()
    queue.notify(reader)
    assert (reader.credits, wire.announced, wire.sent[3:]) == (0, [2, 1], [])
