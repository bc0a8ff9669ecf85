"""The used buffers of a gate (rule 13.6)."""

from __future__ import annotations

from flowsim.network.buffers.buffer import FREEING, BufferSlice, MemorySegment, NetworkBuffer
from flowsim.network.buffers.network_buffer_pool import NetworkBufferPool
from flowsim.network.gates.input_channel import InputChannel
from flowsim.network.gates.remote_input_channel import RemoteInputChannel
from flowsim.network.gates.single_input_gate import SingleInputGate
from flowsim.tasks.task_metrics import MeasuredGate
from tests.support.network import Channels, Returned, SentBack


def measured() -> tuple[MeasuredGate, RemoteInputChannel]:
    """One remote channel with 2 exclusive buffers, and 4 floating ones of its gate."""

    def create(gate: SingleInputGate, index: int) -> InputChannel:
        return RemoteInputChannel(gate, index, index, 2, SentBack(), Returned(), None)

    gate = SingleInputGate(1, NetworkBufferPool(4, 8).create_buffer_pool(1, 4), Channels(create))
    channel = gate.channel(0)
    assert isinstance(channel, RemoteInputChannel)
    return MeasuredGate(gate, 2), channel


def arrive(channel: RemoteInputChannel, number: int, backlog: int) -> None:
    payload = BufferSlice(b"x", NetworkBuffer(MemorySegment(8), FREEING))
    channel.on_buffer(payload, number, backlog)


def test_floating_buffer_without_data_is_not_used() -> None:
    gate, channel = measured()
    channel.on_sender_backlog(3)
    assert channel.floating_available == 3
    assert (gate.used_buffers, gate.total_buffers) == (0, 6)


def test_buffer_with_data_is_used_until_recycled() -> None:
    """Data go into floating buffers first (rule 6.3), then into exclusive ones."""
    gate, channel = measured()
    channel.on_sender_backlog(1)
    for number in range(3):
        arrive(channel, number, 0)
        assert gate.used_buffers == number + 1
    received = [found.received for found in iter(gate.gate.poll, None)]
    assert gate.used_buffers == 3
    for left, buffer in zip((2, 1, 0), received, strict=True):
        buffer.recycle()
        assert gate.used_buffers == left
