"""The receiving side of channels for the tests: gates with remote channels, and buffers of a sender's pool."""

from __future__ import annotations

from flowsim.network.buffers.buffer import (
    FREEING,
    BufferRecycler,
    BufferSlice,
    EventBuffer,
    MemorySegment,
    NetworkBuffer,
)
from flowsim.network.buffers.network_buffer_pool import NetworkBufferPool
from flowsim.network.gates.input_channel import InputChannel
from flowsim.network.gates.remote_input_channel import RemoteInputChannel
from flowsim.network.gates.single_input_gate import SingleInputGate
from flowsim.streamrecord.checkpoint_options import CheckpointOptions
from flowsim.streamrecord.events import CheckpointBarrier
from tests.support.barriers import UNALIGNED
from tests.support.network import Channels, Returned, SentBack


def data(payload: bytes = b"x", sender: BufferRecycler = FREEING) -> BufferSlice:
    return BufferSlice(payload, NetworkBuffer(MemorySegment(8), sender))


def barrier(alignment: CheckpointOptions, checkpoint_id: int = 1) -> EventBuffer:
    event = CheckpointBarrier(checkpoint_id, 1, alignment)
    return EventBuffer(event, has_priority=alignment is UNALIGNED)


def gate_of(channels: int, exclusive: int = 2, floating: int = 2, first_index: int = 0) -> SingleInputGate:
    pool = NetworkBufferPool(floating, 8).create_buffer_pool(1, floating)

    def create(gate: SingleInputGate, index: int) -> InputChannel:
        return RemoteInputChannel(gate, first_index + index, index, exclusive, SentBack(), Returned(), None)

    return SingleInputGate(channels, pool, Channels(create))


def remote(gate: SingleInputGate, index: int = 0) -> RemoteInputChannel:
    channel = gate.channel(index)
    assert isinstance(channel, RemoteInputChannel)
    return channel


def sent_back(channel: RemoteInputChannel) -> list[str]:
    """What the channel had for its sender so far."""
    assert isinstance(channel.client, SentBack)
    return [message for message, _ in channel.client.messages]
