"""Buffers and credits at the receiver (rules 6.1 to 6.14), also after a channel has ended or was released."""

from __future__ import annotations

import pytest

from flowsim.errors import InvariantViolation
from flowsim.network.buffers.buffer import EventBuffer
from flowsim.network.buffers.data_type import DataType
from flowsim.network.buffers.network_buffer_pool import NetworkBufferPool
from flowsim.network.errors import IllegalState
from flowsim.network.gates.remote_input_channel import RemoteInputChannel
from flowsim.network.gates.single_input_gate import SingleInputGate
from flowsim.streamrecord.events import (
    CheckpointBarrier,
    EndOfData,
    EndOfPartitionEvent,
    EventAnnouncement,
    StopMode,
)
from tests.support.barriers import ALIGNED, TIMEOUTABLE, UNALIGNED
from tests.support.network import Channels, Recycled, Returned, SentBack
from tests.support.operators.receiving import barrier, data, gate_of, remote, sent_back


def test_received_buffer_reserves_floating_buffers_for_backlog() -> None:
    """The trace of section 6: two exclusive, four floating; a buffer with backlog 3 arrives."""
    channel = remote(gate_of(1, exclusive=2, floating=4))
    channel.on_buffer(data(), 0, 3)
    assert (channel.buffers.required, channel.buffers.available, channel.unannounced_credit) == (5, 5, 4)


def test_received_buffer_is_copied_and_sender_segment_recycled() -> None:
    sender, gate = Recycled(), gate_of(1)
    remote(gate).on_buffer(data(b"abc", sender), 0, 0)
    assert len(sender.segments) == 1
    polled = gate.poll()
    assert polled is not None
    assert polled.received.payload == b"abc"


def test_credit_increments_are_combined_until_message_is_written() -> None:
    """Rule 6.8."""
    gate = gate_of(1, exclusive=2, floating=4)
    channel = remote(gate)
    channel.on_sender_backlog(1)
    channel.on_sender_backlog(3)
    assert (sent_back(channel), channel.get_and_reset_unannounced_credit()) == (["credit"], 3)
    assert channel.unannounced_credit == 0
    channel.on_sender_backlog(4)
    assert (sent_back(channel), channel.get_and_reset_unannounced_credit()) == (["credit", "credit"], 1)


def test_floating_buffers_are_used_before_exclusive_ones() -> None:
    """Rule 6.3."""
    channel = remote(gate_of(1, exclusive=2, floating=2))
    channel.on_sender_backlog(2)
    assert (channel.buffers.exclusive_available, channel.buffers.available) == (2, 4)
    channel.on_buffer(data(), 0, 0)
    assert (channel.buffers.exclusive_available, channel.buffers.available) == (2, 3)


def test_recycled_exclusive_buffer_beyond_demand_returns_floating_buffer() -> None:
    """Rule 6.5; rule 6.7: less demand alone gives nothing back."""
    gate = gate_of(1, exclusive=2, floating=2)
    channel = remote(gate)
    channel.on_buffer(data(), 0, 0)  # Takes an exclusive one, and a floating one in its place.
    channel.on_buffer(data(), 1, 0)  # Takes the floating one, and the other floating one in its place.
    assert channel.get_and_reset_unannounced_credit() == 2
    channel.on_sender_backlog(0)
    assert channel.buffers.available == 2
    first = gate.poll()
    assert first is not None
    first.received.recycle()
    assert (channel.buffers.exclusive_available, channel.buffers.available, channel.unannounced_credit) == (2, 2, 0)
    assert gate.pool.free_segments == 1
    second = gate.poll()
    assert second is not None
    second.received.recycle()
    assert (channel.buffers.available, channel.unannounced_credit, gate.pool.free_segments) == (2, 0, 2)


def test_returned_floating_buffer_goes_to_longest_waiting_channel() -> None:
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
    polled.received.recycle()
    assert [c.unannounced_credit for c in (holder, first, second)] == [1, 1, 0]


def test_channel_without_demand_passes_floating_buffer_on() -> None:
    """Rule 6.6."""
    gate = gate_of(3, exclusive=1, floating=1)
    holder, satisfied, waiting = remote(gate, 0), remote(gate, 1), remote(gate, 2)
    for channel in (holder, satisfied, waiting):
        channel.on_sender_backlog(1)
    satisfied.on_sender_backlog(0)
    holder.release()
    assert [c.unannounced_credit for c in (satisfied, waiting)] == [0, 1]


def test_non_consecutive_sequence_number_is_refused() -> None:
    """Rule 6.14."""
    channel = remote(gate_of(1))
    channel.on_buffer(data(), 0, 0)
    with pytest.raises(InvariantViolation):
        channel.on_buffer(data(), 2, 0)


def test_data_buffer_without_reserved_buffer_is_refused() -> None:
    channel = remote(gate_of(1, exclusive=1, floating=1))
    channel.on_buffer(data(), 0, 0)
    channel.on_buffer(data(), 1, 0)
    with pytest.raises(InvariantViolation, match="without a reserved buffer"):
        channel.on_buffer(data(), 2, 0)


def test_each_requested_buffer_reduces_demand_even_below_zero() -> None:
    """Rule 6.3: a demand of -1 then needs two buffers more than one of 1."""
    channel = remote(gate_of(1, exclusive=2, floating=2))
    channel.buffers.request_buffer()
    assert channel.buffers.required == -1


def test_without_exclusive_buffers_blocking_event_returns_floating_buffers() -> None:
    """Rule 6.13: and the credits for them are void when the channel is resumed."""
    gate = gate_of(1, exclusive=0, floating=3)
    channel = remote(gate)
    channel.on_sender_backlog(3)
    assert (channel.buffers.floating_available, channel.unannounced_credit) == (3, 3)
    channel.on_buffer(barrier(ALIGNED), 0, 0)
    assert (channel.buffers.floating_available, channel.buffers.required, gate.pool.free_segments) == (0, 0, 3)
    assert channel.unannounced_credit == 3
    channel.resume_consumption()
    assert (channel.unannounced_credit, sent_back(channel)) == (0, ["credit", "resume"])


def test_with_exclusive_buffers_blocking_event_keeps_buffers() -> None:
    channel = remote(gate_of(1, exclusive=1, floating=2))
    channel.on_sender_backlog(2)
    channel.on_buffer(barrier(ALIGNED), 0, 0)
    channel.resume_consumption()
    assert (channel.buffers.available, channel.unannounced_credit) == (3, 2)


def test_empty_buffer_is_recycled_and_never_read() -> None:
    """Rule 6.13: only its sequence number counts."""
    gate = gate_of(1, exclusive=0, floating=1)
    channel = remote(gate)
    channel.on_sender_backlog(1)
    channel.on_buffer(data(b""), 0, 0)
    assert (gate.is_available, gate.poll(), gate.pool.free_segments) == (False, None, 1)
    channel.on_buffer(EventBuffer(EndOfData(StopMode.DRAIN)), 1, 0)
    assert channel.queued_buffers == 1


def test_priority_event_is_read_before_earlier_data() -> None:
    """Rule 5.28, at the receiver."""
    gate = gate_of(1)
    channel = remote(gate)
    channel.on_buffer(data(), 0, 0)
    channel.on_buffer(barrier(UNALIGNED), 1, 0)
    assert gate.priority_availability.available
    first = channel.next_buffer()
    assert first is not None
    assert (first.received.data_type, first.next_type, first.sequence_number) == (
        DataType.PRIORITIZED_EVENT_BUFFER,
        DataType.DATA_BUFFER,
        1,
    )


def test_timeoutable_barrier_is_announced_before_data_and_may_overtake() -> None:
    """And it overtakes that data when it has waited too long (rule 7.14)."""
    gate = gate_of(1)
    channel = remote(gate)
    channel.on_buffer(data(), 0, 0)
    channel.on_buffer(barrier(TIMEOUTABLE), 1, 0)
    announced = gate.poll()
    assert announced is not None
    event = CheckpointBarrier(1, 1, TIMEOUTABLE)
    assert announced.received.event == EventAnnouncement(event, 1)
    assert not gate.priority_availability.available
    channel.convert_to_priority_event(1)
    assert gate.priority_availability.available
    polled = gate.poll()
    assert polled is not None
    assert (polled.received.event, polled.received.data_type.has_priority) == (event, True)
    with pytest.raises(IllegalState, match="no event 1 in the queue can overtake"):
        channel.convert_to_priority_event(1)


def test_released_channel_returns_exclusive_buffers_and_cannot_resume() -> None:
    """Those in use follow as they are recycled."""
    back, pool = Returned(), NetworkBufferPool(1, 8).create_buffer_pool(1, 1)
    gate = SingleInputGate(
        2, pool, Channels(lambda gate, index: RemoteInputChannel(gate, index, index, 2, SentBack(), back, None))
    )
    channel = remote(gate)
    channel.on_buffer(data(), 0, 0)
    polled = gate.poll()
    channel.on_buffer(EventBuffer(EndOfPartitionEvent()), 1, 0)
    gate.poll()
    assert back.counts == [1]
    assert polled is not None
    polled.received.recycle()
    assert back.counts == [1, 1]
    with pytest.raises(IllegalState):
        channel.resume_consumption()


def test_buffers_in_use_are_queued_ones_and_demand_beyond_exclusive() -> None:
    """Rule 6.23."""
    gate = gate_of(1, exclusive=2, floating=8)
    channel = remote(gate)
    channel.on_buffer(data(), 0, 3)
    assert (channel.buffers_in_use, gate.buffers_in_use) == (4, 4)


def test_released_channel_returns_exclusive_memory_last() -> None:
    """So that a pool which may grow now takes nothing for a segment that is about to come back to it."""
    memory = NetworkBufferPool(2, 32)
    pool = memory.create_buffer_pool(1, 2)
    memory.reserve(1)
    gate = SingleInputGate(
        1, pool, Channels(lambda gate, index: RemoteInputChannel(gate, index, index, 1, SentBack(), memory, None))
    )
    channel = remote(gate)
    channel.on_buffer(data(), 0, 0)  # Takes the exclusive one, and the floating one in its place.
    channel.release()
    assert (pool.size, pool.requested, pool.free_segments, memory.available_segments) == (2, 1, 1, 1)
