"""The order of readers on one connection (rules 6.13 to 6.16), on a wire with limited bandwidth."""

from __future__ import annotations

from flowsim.network.buffers.buffer import FREEING, MemorySegment
from flowsim.network.buffers.buffer_builder import BufferBuilder
from flowsim.network.connections.partition_request_queue import PartitionRequestQueue
from flowsim.network.connections.view_reader import BufferResponse, CreditBasedSequenceNumberingViewReader
from flowsim.network.outbox import Outbox
from flowsim.network.partitions.pipelined_subpartition import PipelinedSubpartition
from flowsim.network.partitions.result_subpartition import Buffer
from flowsim.streamrecord.events import CheckpointBarrier
from tests.support.barriers import ALIGNED


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
        self.unwritten: list[CreditBasedSequenceNumberingViewReader] = []

    def send(self, reader: CreditBasedSequenceNumberingViewReader, response: BufferResponse) -> None:
        self.sent.append((reader.channel_id, response.sequence_number))
        self.unwritten.append(reader)

    def send_backlog(self, reader: CreditBasedSequenceNumberingViewReader, backlog: int) -> None:
        self.announced.append(backlog)

    def write(self) -> None:
        self.unwritten.pop(0).queue.write_and_flush_next()


class Connection:
    """Readers of finished data buffers that share one slow wire."""

    def __init__(self, buffers: list[int], credit: int = 9) -> None:
        self.wire = SlowWire()
        self.outbox = Outbox()
        self.queue = PartitionRequestQueue(self.wire, self.outbox)
        self.subpartitions = [PipelinedSubpartition(index) for index in range(len(buffers))]
        self.readers = [
            CreditBasedSequenceNumberingViewReader(self.queue, NoReceiver(), credit, index, None)
            for index in range(len(buffers))
        ]
        for subpartition, count in zip(self.subpartitions, buffers, strict=True):
            for _ in range(count):
                self.add(subpartition)
        for subpartition, reader in zip(self.subpartitions, self.readers, strict=True):
            self.queue.notify_reader_created(reader)
            reader.request_subpartition(subpartition)

    def add(self, subpartition: PipelinedSubpartition) -> None:
        builder = BufferBuilder(MemorySegment(4), FREEING)
        builder.append_and_commit(b"abcd")
        builder.finish()
        subpartition.add(builder.create_consumer_from_beginning())
        builder.close()
        subpartition.flush()

    def notify_all(self) -> None:
        for reader in self.readers:
            self.queue.enqueue_available_reader(reader)


def test_next_buffer_is_sent_when_previous_is_written() -> None:
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


def test_reader_joining_empty_queue_is_served_while_buffer_is_being_written() -> None:
    """Rule 6.15: only the wire itself can refuse."""
    connection = Connection([1, 1])
    connection.queue.enqueue_available_reader(connection.readers[0])
    connection.queue.enqueue_available_reader(connection.readers[1])
    assert connection.wire.sent == [(0, 0), (1, 0)]


def test_unwritable_wire_delays_all_readers() -> None:
    connection = Connection([1, 1])
    wire = connection.wire
    wire.is_writable = False
    connection.notify_all()
    assert (wire.sent, [reader.registered for reader in connection.readers]) == ([], [True, True])
    wire.is_writable = True
    connection.queue.write_and_flush_next()
    assert wire.sent == [(0, 0)]
    wire.write()
    assert wire.sent == [(0, 0), (1, 0)]


def test_without_exclusive_buffers_backlog_is_announced_and_resume_resets_credit() -> None:
    """Rule 6.13."""
    connection = Connection([2], credit=0)
    reader, queue, wire = connection.readers[0], connection.queue, connection.wire
    queue.enqueue_available_reader(reader)
    assert wire.announced == [2]
    queue.add_credit(0, 3)
    connection.subpartitions[0].add_event(CheckpointBarrier(1, 1, ALIGNED))
    for _ in range(3):
        wire.write()
    assert (wire.sent, reader.credits, connection.subpartitions[0].blocked) == ([(0, 0), (0, 1), (0, 2)], 1, True)
    connection.add(connection.subpartitions[0])
    queue.resume_consumption(0)
    assert (reader.credits, wire.announced, wire.sent[3:]) == (0, [2, 1], [])


def test_free_wire_sends_nothing_before_batch_of_sender_ends() -> None:
    """Decision D4: the reader that queued itself before the batch has buffers of the batch by now."""
    connection = Connection([2])
    connection.notify_all()
    wire = connection.wire
    connection.outbox.sealed = True
    wire.write()
    assert wire.sent == [(0, 0)]
    connection.outbox.publish()
    assert wire.sent == [(0, 0), (0, 1)]


def test_buffer_size_of_a_channel_without_a_reader_is_ignored() -> None:
    """Rule 6.24: the gate sends a size to all of its channels, and some may not have requested their partition yet."""
    connection = Connection([1])
    connection.queue.notify_new_buffer_size(7, 64)
