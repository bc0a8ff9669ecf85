"""The receiving side of channels for the tests: gates with remote channels, and buffers as a sender's pool lends them."""

from __future__ import annotations

from flowsim.network.buffers.buffer import BufferSlice, EventBuffer, MemorySegment, NetworkBuffer
from flowsim.network.buffers.network_buffer_pool import NetworkBufferPool
from flowsim.network.gates.input_channel import InputChannel
from flowsim.network.gates.remote_input_channel import RemoteInputChannel
from flowsim.network.gates.single_input_gate import SingleInputGate
from flowsim.streamrecord.events import Alignment, CheckpointBarrier


class Returned:
    """Segments that were recycled at the sender."""

    def __init__(self) -> None:
        self.segments = 0

    def take(self, segment: MemorySegment) -> None:
        self.segments += 1


SENDER = Returned()


def data(payload: bytes = b"x", sender: Returned = SENDER) -> BufferSlice:
    return BufferSlice(payload, NetworkBuffer(MemorySegment(8), sender.take))


def barrier(alignment: Alignment, checkpoint_id: int = 1) -> EventBuffer:
    event = CheckpointBarrier(checkpoint_id, 1, alignment)
    return EventBuffer(event, has_priority=alignment is Alignment.UNALIGNED)


def gate_of(channels: int, exclusive: int = 2, floating: int = 2, first_index: int = 0) -> SingleInputGate:
    pool = NetworkBufferPool(floating, 8).create_buffer_pool(1, floating)

    def create(gate: SingleInputGate, index: int) -> InputChannel:
        return RemoteInputChannel(gate, first_index + index, index, exclusive, None)

    return SingleInputGate(channels, pool, create)


def remote(gate: SingleInputGate, index: int = 0) -> RemoteInputChannel:
    channel = gate.channel(index)
    assert isinstance(channel, RemoteInputChannel)
    return channel
