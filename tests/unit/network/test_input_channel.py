"""Buffers and credits at the receiver (rules 6.1-6.8), and what happens to them when a channel ends or goes away."""

from __future__ import annotations

import pytest

from flowsim.errors import InvariantViolation
from flowsim.network.buffer import BufferSlice, EventBuffer, MemorySegment, NetworkBuffer
from flowsim.network.buffer_pool import NetworkBufferPool
from flowsim.network.input_channel import InputChannel, RemoteInputChannel
from flowsim.network.input_gate import EndOfDataStatus, SingleInputGate, UnionInputGate
from flowsim.streamrecord.events import EndOfData, EndOfPartitionEvent, StopMode


class Returned:
    """Segments that were recycled at the sender."""

    def __init__(self) -> None:
        self.segments = 0

    def take(self, segment: MemorySegment) -> None:
        self.segments += 1


SENDER = Returned()


def data(payload: bytes = b"x", sender: Returned = SENDER) -> BufferSlice:
    return BufferSlice(payload, NetworkBuffer(MemorySegment(8), sender.take))


def gate_of(channels: int, exclusive: int = 2, floating: int = 2, first_index: int = 0) -> SingleInputGate:
    pool = NetworkBufferPool(floating, 8).create_buffer_pool(1, floating)

    def create(gate: SingleInputGate, index: int) -> InputChannel:
        return RemoteInputChannel(gate, first_index + index, index, exclusive, None)

    return SingleInputGate(channels, pool, create)


def remote(gate: SingleInputGate, index: int = 0) -> RemoteInputChannel:
    channel = gate.channel(index)
    assert isinstance(channel, RemoteInputChannel)
    return channel


def test_an_arriving_buffer_reserves_floating_buffers_for_what_the_sender_still_has() -> None:
    """The trace of section 6: two exclusive, four floating; a buffer with backlog 3 arrives."""
    channel = remote(gate_of(1, exclusive=2, floating=4))
    channel.on_buffer(data(), 0, 3)
    assert (channel.required_buffers, channel.available_buffers, channel.unannounced_credit) == (5, 5, 4)


def test_a_buffer_is_copied_into_reserved_memory_and_the_sender_s_segment_is_free_at_once() -> None:
    sender, gate = Returned(), gate_of(1)
    remote(gate).on_buffer(data(b"abc", sender), 0, 0)
    assert sender.segments == 1
    polled = gate.poll()
    assert polled is not None
    assert polled[1].payload == b"abc"


def test_increments_of_credit_coalesce_until_the_message_is_written() -> None:
    """Rule 6.8."""
    gate = gate_of(1, exclusive=2, floating=4)
    channel, wishes = remote(gate), list[RemoteInputChannel]()
    channel.on_credit = wishes.append
    channel.on_sender_backlog(1)
    channel.on_sender_backlog(3)
    assert (len(wishes), channel.get_and_reset_unannounced_credit(), channel.unannounced_credit) == (1, 3, 0)
    channel.on_sender_backlog(4)
    assert (len(wishes), channel.get_and_reset_unannounced_credit()) == (2, 1)


def test_floating_memory_is_used_before_exclusive_memory() -> None:
    """Rule 6.3."""
    channel = remote(gate_of(1, exclusive=2, floating=2))
    channel.on_sender_backlog(2)
    assert (channel.exclusive_available, channel.available_buffers) == (2, 4)
    channel.on_buffer(data(), 0, 0)
    assert (channel.exclusive_available, channel.available_buffers) == (2, 3)


def test_a_recycled_exclusive_buffer_beyond_the_demand_gives_back_a_floating_one_and_announces_nothing() -> None:
    """Rule 6.5; rule 6.7: less demand alone gives nothing back."""
    gate = gate_of(1, exclusive=2, floating=2)
    channel = remote(gate)
    channel.on_buffer(data(), 0, 0)  # Takes an exclusive one, and a floating one in its place.
    channel.on_buffer(data(), 1, 0)  # Takes the floating one, and the other floating one in its place.
    assert channel.get_and_reset_unannounced_credit() == 2
    channel.on_sender_backlog(0)
    assert channel.available_buffers == 2
    first = gate.poll()
    assert first is not None
    first[1].recycle()
    assert (channel.exclusive_available, channel.available_buffers, channel.unannounced_credit) == (2, 2, 0)
    assert gate.pool.free_segments == 1
    second = gate.poll()
    assert second is not None
    second[1].recycle()
    assert (channel.available_buffers, channel.unannounced_credit, gate.pool.free_segments) == (2, 0, 2)


def test_a_floating_buffer_that_comes_back_goes_to_the_channel_that_has_waited_longest() -> None:
    """Rules 6.4, 6.6: one registration per channel, first come first served."""
    gate = gate_of(3, exclusive=1, floating=1)
    holder, first, second = remote(gate, 0), remote(gate, 1), remote(gate, 2)
    holder.on_sender_backlog(1)
    first.on_sender_backlog(1)
    second.on_sender_backlog(1)
    assert [c.unannounced_credit for c in (holder, first, second)] == [1, 0, 0]
    holder.on_buffer(data(), 0, 0)
    polled = gate.poll()
    assert polled is not None
    polled[1].recycle()
    assert [c.unannounced_credit for c in (holder, first, second)] == [1, 1, 0]


def test_a_channel_that_needs_no_buffer_any_more_leaves_it_to_the_next_one() -> None:
    """Rule 6.6."""
    gate = gate_of(3, exclusive=1, floating=1)
    holder, satisfied, waiting = remote(gate, 0), remote(gate, 1), remote(gate, 2)
    for channel in (holder, satisfied, waiting):
        channel.on_sender_backlog(1)
    satisfied.on_sender_backlog(0)
    holder.release()
    assert [c.unannounced_credit for c in (satisfied, waiting)] == [0, 1]


def test_sequence_numbers_must_be_consecutive() -> None:
    """Rule 6.14."""
    channel = remote(gate_of(1))
    channel.on_buffer(data(), 0, 0)
    with pytest.raises(InvariantViolation):
        channel.on_buffer(data(), 2, 0)


def test_a_data_buffer_without_a_reserved_one_is_a_bug() -> None:
    channel = remote(gate_of(1, exclusive=1, floating=1))
    channel.on_buffer(data(), 0, 0)
    channel.on_buffer(data(), 1, 0)
    with pytest.raises(InvariantViolation, match="without a reserved buffer"):
        channel.on_buffer(data(), 2, 0)


def test_buffers_that_arrive_at_a_closed_gate_are_dropped_and_their_segments_go_back() -> None:
    """Also on a channel that is used for the first time after that."""
    sender, gate = Returned(), gate_of(2, exclusive=1, floating=1)
    remote(gate, 0).on_buffer(data(sender=sender), 0, 5)
    gate.close()
    for number in range(1, 5):
        remote(gate, 0).on_buffer(data(sender=sender), number, 5)
    for number in range(3):
        remote(gate, 1).on_buffer(data(sender=sender), number, 5)
        remote(gate, 1).on_sender_backlog(3)
    assert sender.segments == 8
    assert (gate.queued_buffers, gate.poll()) == (0, None)


def test_channels_take_turns_one_buffer_each() -> None:
    """Rule 7.3."""
    gate = gate_of(3, exclusive=3)
    for index in (0, 1, 2):
        for number in range(index + 1):
            remote(gate, index).on_buffer(data(bytes([index, number])), number, 0)
    order = []
    while (polled := gate.poll()) is not None:
        order.append(tuple(polled[1].payload))
    assert order == [(0, 0), (1, 0), (2, 0), (1, 1), (2, 1), (2, 2)]


def test_a_gate_is_at_its_end_when_every_channel_is() -> None:
    """Rules 7.6, 7.7, 7.13."""
    gate = gate_of(2)
    for index in (0, 1):
        remote(gate, index).on_buffer(EventBuffer(EndOfData(StopMode.DRAIN)), 0, 0)
    gate.poll()
    assert gate.end_of_data_status() is EndOfDataStatus.NOT_END_OF_DATA
    gate.poll()
    assert gate.end_of_data_status() is EndOfDataStatus.DRAINED
    for index in (0, 1):
        assert not gate.finished
        remote(gate, index).on_buffer(EventBuffer(EndOfPartitionEvent()), 1, 0)
        gate.poll()
    assert (gate.finished, gate.is_available, gate.poll()) == (True, True, None)


def test_one_channel_that_stopped_without_drain_stops_the_gate() -> None:
    """Rule 7.7."""
    gate = gate_of(2)
    remote(gate, 0).on_buffer(EventBuffer(EndOfData(StopMode.NO_DRAIN)), 0, 0)
    remote(gate, 1).on_buffer(EventBuffer(EndOfData(StopMode.DRAIN)), 0, 0)
    gate.poll()
    gate.poll()
    assert gate.end_of_data_status() is EndOfDataStatus.STOPPED


def test_united_gates_take_turns_and_end_together() -> None:
    """Rules 7.10, 7.11."""
    left, right = gate_of(1, exclusive=3), gate_of(1, exclusive=3, first_index=1)
    union, calls = UnionInputGate([left, right]), list[str]()
    union.on_available = lambda: calls.append("available")
    for number in range(3):
        remote(left).on_buffer(data(b"l"), number, 0)
        remote(right).on_buffer(data(b"r"), number, 0)
    order = []
    while (polled := union.poll()) is not None:
        order.append((polled[0].index, polled[1].payload))
    assert order == [(0, b"l"), (1, b"r")] * 3
    assert calls == ["available"]
    for gate in (left, right):
        assert not union.finished
        remote(gate).on_buffer(EventBuffer(EndOfData(StopMode.DRAIN)), 3, 0)
        remote(gate).on_buffer(EventBuffer(EndOfPartitionEvent()), 4, 0)
        while union.poll() is not None:
            continue
    assert union.finished
    assert union.end_of_data_status() is EndOfDataStatus.DRAINED
