"""Connects a barrier handler with the gates of a task. Flink: CheckpointedInputGate, SingleInputGate."""

from __future__ import annotations

from collections.abc import Sequence

from flowsim.network.checkpointing.checkpoint_barrier_handler import CheckpointBarrierHandler
from flowsim.network.gates.input_channel import InputChannel
from flowsim.network.gates.single_input_gate import SingleInputGate
from flowsim.state.redistribution.channel_state_handles import InputChannelInfo
from flowsim.streamrecord.events import CheckpointBarrier, Event


class CheckpointableGate:
    """A gate of a task with checkpoints. Flink: SingleInputGate, CheckpointableInput."""

    __slots__ = ("_gate",)

    def __init__(self, gate: SingleInputGate) -> None:
        self._gate = gate

    def block_consumption(self, channel: InputChannelInfo) -> None:
        """Does nothing: the barrier has stopped the sender (rule 5.27)."""

    def resume_consumption(self, channel: InputChannelInfo) -> None:
        """Lets the sender go on. Raises IllegalState after the end of the channel."""
        self._gate.channel(channel.channel).resume_consumption()

    def checkpoint_started(self, barrier: CheckpointBarrier) -> None:
        """Starts to store data. Raises CheckpointException (rules 12.83, 12.93)."""
        self._gate.checkpoint_started(barrier)

    def checkpoint_stopped(self, checkpoint_id: int) -> None:
        self._gate.checkpoint_stopped(checkpoint_id)

    def convert_to_priority_event(self, channel: int, sequence_number: int) -> None:
        self._gate.channel(channel).convert_to_priority_event(sequence_number)


class BarrierEventHandler:
    """Passes the events of one input to the handler that all inputs of the task share (rule 12.78).

    ``first_gate`` is the index of the first of ``gates`` among all gates of the task. Flink: CheckpointedInputGate.
    """

    __slots__ = ("_handler", "_channels")

    def __init__(
        self, handler: CheckpointBarrierHandler, gates: Sequence[SingleInputGate], first_gate: int = 0
    ) -> None:
        self._handler = handler
        self._channels = [
            InputChannelInfo(first_gate + number, channel)
            for number, gate in enumerate(gates)
            for channel in range(gate.count)
        ]
        """By the index of a channel in the input."""

    def process_event(self, channel: InputChannel, event: Event) -> None:
        self._handler.process_event(self._channels[channel.index], event)

    def add_processed_bytes(self, size_bytes: int) -> None:
        self._handler.add_processed_bytes(size_bytes)
