"""A channel that reads the producer's subpartition itself (rule 6.17)."""

from __future__ import annotations

import pytest

from flowsim.network.buffers.buffer import FREEING, MemorySegment
from flowsim.network.buffers.buffer_builder import BufferBuilder
from flowsim.network.errors import IllegalState
from flowsim.network.gates.local_input_channel import LocalInputChannel
from flowsim.network.gates.single_input_gate import SingleInputGate
from flowsim.network.outbox import Outbox
from flowsim.network.partitions.pipelined_subpartition import PipelinedSubpartition
from flowsim.network.partitions.result_subpartition import UNLIMITED_SIZE
from flowsim.streamrecord.events import CheckpointBarrier
from tests.support.barriers import ALIGNED, UNALIGNED
from tests.support.network import Channels
from tests.support.operators.receiving import gate_of


class Pair:
    """A subpartition with its local reader, behind a gate of one channel, and the outboxes of both tasks."""

    def __init__(self, zero_exclusive_buffers: bool = False) -> None:
        self.producer, self.consumer = Outbox(), Outbox()
        self.subpartition = PipelinedSubpartition(0, zero_exclusive_buffers)
        pool = gate_of(1).pool
        self.gate = SingleInputGate(1, pool, Channels(self._create))
        channel = self.gate.channel(0)
        assert isinstance(channel, LocalInputChannel)
        self.channel = channel
        self.channel.request_subpartition(self.subpartition)

    def _create(self, gate: SingleInputGate, index: int) -> LocalInputChannel:
        return LocalInputChannel(gate, index, index, self.producer, self.consumer, None)

    def add(self, payload: bytes) -> None:
        builder = BufferBuilder(MemorySegment(8), FREEING)
        builder.append_and_commit(payload)
        self.subpartition.add(builder.create_consumer_from_beginning())
        builder.finish()
        builder.close()
        self.subpartition.flush()

    def read(self) -> list[bytes]:
        """The payloads of everything that can be read now."""
        payloads = []
        while (polled := self.gate.poll()) is not None:
            payloads.append(polled.received.payload)
        return payloads


def test_resumed_channel_is_queued_when_data_follows_barrier() -> None:
    """Rules 5.27, 6.17."""
    pair = Pair()
    pair.subpartition.add_event(CheckpointBarrier(1, 1, ALIGNED))
    assert pair.read() == [b""]
    pair.add(b"behind")
    assert (pair.gate.is_available, pair.read()) == (False, [])
    pair.channel.resume_consumption()
    assert (pair.gate.is_available, pair.read()) == (True, [b"behind"])
    pair.subpartition.add_event(CheckpointBarrier(2, 1, ALIGNED))
    pair.read()
    pair.channel.resume_consumption()
    assert not pair.gate.is_available


def test_empty_buffers_are_skipped() -> None:
    """Rule 6.17: they are polled where the receiver has no exclusive buffers, but hold nothing."""
    pair = Pair(zero_exclusive_buffers=True)
    pair.add(b"")
    pair.add(b"a")
    pair.add(b"")
    assert pair.read() == [b"a"]


def test_published_priority_event_is_read_while_batch_of_producer_runs() -> None:
    """Decision D4, rule 7.5: the gate polls a channel with priority only to read its priority event."""
    pair = Pair()
    pair.add(b"before")
    pair.subpartition.add_event(CheckpointBarrier(1, 1, UNALIGNED))
    pair.producer.sealed = True
    pair.add(b"behind")
    pair.subpartition.add_event(CheckpointBarrier(2, 1, UNALIGNED))
    polled = pair.gate.poll()
    assert polled is not None
    assert polled.received.event == CheckpointBarrier(1, 1, UNALIGNED)
    assert (pair.gate.priority_availability.available, pair.read()) == (False, [])
    pair.producer.publish()
    assert pair.gate.priority_availability.available
    polled = pair.gate.poll()
    assert polled is not None
    assert polled.received.event == CheckpointBarrier(2, 1, UNALIGNED)
    assert pair.read() == [b"before", b"behind"]


def test_data_of_running_batch_is_readable_after_its_end() -> None:
    """Decision D4."""
    pair = Pair()
    pair.producer.sealed = True
    pair.add(b"later")
    assert (pair.gate.is_available, pair.read()) == (False, [])
    pair.producer.publish()
    assert (pair.gate.is_available, pair.read()) == (True, [b"later"])


def test_priority_event_of_running_batch_is_announced_at_its_end() -> None:
    """Decision D4, rule 5.28."""
    pair = Pair()
    pair.producer.sealed = True
    pair.subpartition.add_event(CheckpointBarrier(1, 1, UNALIGNED))
    assert not pair.gate.priority_availability.available
    pair.producer.publish()
    assert pair.gate.priority_availability.available


def test_buffer_size_reaches_producer_at_end_of_consumer_batch() -> None:
    """Decision D4, rule 6.24."""
    pair = Pair()
    pair.consumer.sealed = True
    pair.gate.announce_buffer_size(6)
    assert pair.subpartition.buffer_size_bytes == UNLIMITED_SIZE
    pair.consumer.publish()
    assert (pair.subpartition.buffer_size_bytes, pair.gate.announced_size_bytes) == (6, 6)


def test_priority_event_is_read_first() -> None:
    """Rule 7.5: a late notice of it changes nothing."""
    pair = Pair()
    pair.add(b"data")
    pair.subpartition.add_event(CheckpointBarrier(1, 1, UNALIGNED))
    assert pair.gate.priority_availability.available
    first = pair.gate.poll()
    assert first is not None
    assert first.received.data_type.has_priority
    pair.channel.notify_priority_event(0)
    assert (pair.gate.priority_availability.available, pair.read()) == (False, [b"data"])


def test_released_channel_reads_nothing_and_cannot_resume() -> None:
    pair = Pair()
    pair.channel.release()
    pair.add(b"a")
    assert (pair.gate.is_available, pair.channel.queued_buffers, pair.channel.next_buffer()) == (False, 0, None)
    with pytest.raises(IllegalState):
        pair.channel.resume_consumption()
