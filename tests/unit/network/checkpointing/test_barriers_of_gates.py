"""A barrier handler over real gates and channels (rules 5.27, 12.11, 12.12, 12.78, 12.142)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from flowsim.network.buffers.buffer import EventBuffer
from flowsim.network.checkpointing.checkpointed_input_gate import CheckpointedInputGate
from flowsim.network.checkpointing.single_checkpoint_barrier_handler import SingleCheckpointBarrierHandler
from flowsim.network.gates.union_input_gate import UnionInputGate
from flowsim.state.redistribution.channel_state_handles import InputChannelInfo
from flowsim.streamrecord.checkpoint_exception import CheckpointException
from flowsim.streamrecord.events import CheckpointBarrier, EndOfPartitionEvent
from tests.support.barriers import ALIGNED, TIMEOUTABLE, UNALIGNED
from tests.support.checkpointing.recording_task import Events, HandlerClock, RecordingTask, RecordingTimers
from tests.support.operators.receiving import barrier, data, gate_of, remote, sent_back


class Inputs:
    """A task with two inputs: a union of two gates, and one gate."""

    def __init__(self) -> None:
        self.gates = [gate_of(1), gate_of(2, first_index=1), gate_of(1)]
        self.events: Events = []
        self.task = RecordingTask(self.events)
        clock = HandlerClock(1)
        self.handler = SingleCheckpointBarrierHandler.aligned(
            self.task,
            clock,
            4,
            RecordingTimers(clock, self.events),
            self.gates,
            checkpoints_after_tasks_finish=True,
        )
        self.inputs = [CheckpointedInputGate(UnionInputGate(self.gates[:2])), CheckpointedInputGate(self.gates[2])]
        self.inputs[0].handle_events_by(self.handler, self.gates[:2])
        self.inputs[1].handle_events_by(self.handler, self.gates[2:], first_gate=2)

    def read_all(self) -> None:
        for gate in self.inputs:
            while gate.poll() is not None:
                continue


def test_checkpoint_is_taken_and_all_channels_resumed_after_the_barriers_of_all_inputs() -> None:
    inputs = Inputs()
    channels = [remote(inputs.gates[0]), remote(inputs.gates[1]), remote(inputs.gates[1], 1), remote(inputs.gates[2])]
    channels[0].on_buffer(barrier(ALIGNED), 0, 0)
    inputs.read_all()
    for channel in channels[1:]:
        channel.on_buffer(data(b"12345"), 0, 0)
        channel.on_buffer(barrier(ALIGNED), 1, 0)
    for channel in channels[1:3]:
        channel.on_buffer(data(), 2, 0)
    assert (inputs.events, [sent_back(channel).count("resume") for channel in channels]) == ([], [0, 0, 0, 0])
    inputs.read_all()
    assert inputs.events == [["trigger", 1, "ALIGNED"]]
    assert [sent_back(channel).count("resume") for channel in channels] == [1, 1, 1, 1]
    ((_, metrics),) = inputs.task.triggered
    # The data of the union after its barriers was read before the barrier of the second input.
    assert metrics.alignment.processed_bytes == 17


def test_ended_channel_completes_the_checkpoint_and_is_not_resumed() -> None:
    inputs = Inputs()
    for gate in inputs.gates:
        for index in range(gate.count):
            remote(gate, index).on_buffer(
                EventBuffer(EndOfPartitionEvent()) if gate is inputs.gates[1] else barrier(ALIGNED), 0, 0
            )
    inputs.read_all()
    assert inputs.events == [["trigger", 1, "ALIGNED"]]
    assert [sent_back(remote(gate)).count("resume") for gate in inputs.gates] == [1, 0, 1]


class Stored:
    """The stored data of inputs."""

    def __init__(self) -> None:
        self.data: list[tuple[int, InputChannelInfo, tuple[bytes, ...]]] = []

    def add_input_data(self, checkpoint_id: int, channel: InputChannelInfo, payloads: Sequence[bytes]) -> None:
        self.data.append((checkpoint_id, channel, tuple(payloads)))


def test_gate_stores_queued_data_and_data_until_the_barrier() -> None:
    """Rule 12.83."""
    gate, stored = gate_of(2), Stored()
    gate.set_channel_state_writer(stored, 3)
    remote(gate, 0).on_buffer(data(b"queued"), 0, 0)
    gate.checkpoint_started(CheckpointBarrier(1, 1, UNALIGNED))
    remote(gate, 0).on_buffer(data(b"before"), 1, 0)
    remote(gate, 0).on_buffer(barrier(UNALIGNED), 2, 0)
    remote(gate, 0).on_buffer(data(b"after"), 3, 0)
    remote(gate, 1).on_buffer(data(b"other"), 0, 0)
    gate.checkpoint_stopped(1)
    remote(gate, 1).on_buffer(data(b"stopped"), 1, 0)
    first, second = InputChannelInfo(3, 0), InputChannelInfo(3, 1)
    assert stored.data == [(1, first, (b"queued",)), (1, first, (b"before",)), (1, second, (b"other",))]


def test_barrier_that_has_arrived_limits_what_is_stored_of_the_queue() -> None:
    """Rule 12.83: an announced barrier is behind the data that it may overtake."""
    gate, stored = gate_of(1), Stored()
    gate.set_channel_state_writer(stored, 0)
    remote(gate).on_buffer(data(b"before"), 0, 0)
    remote(gate).on_buffer(barrier(TIMEOUTABLE), 1, 0)
    remote(gate).on_buffer(data(b"after"), 2, 0)
    gate.checkpoint_started(CheckpointBarrier(1, 1, UNALIGNED))
    remote(gate).on_buffer(data(b"later"), 3, 0)
    assert stored.data == [(1, InputChannelInfo(0, 0), (b"before",))]


def test_older_checkpoint_than_the_barrier_that_arrived_is_subsumed() -> None:
    """Rule 12.86."""
    gate = gate_of(1)
    gate.set_channel_state_writer(Stored(), 0)
    remote(gate).on_buffer(EventBuffer(CheckpointBarrier(2, 1, UNALIGNED), has_priority=True), 0, 0)
    with pytest.raises(CheckpointException, match="likely been overwritten by a newer checkpoint 2"):
        gate.checkpoint_started(CheckpointBarrier(1, 1, UNALIGNED))


def test_gate_prioritizes_announced_barrier() -> None:
    gate = gate_of(1)
    gate.block_consumption(InputChannelInfo(0, 0))
    remote(gate).on_buffer(data(), 0, 0)
    remote(gate).on_buffer(barrier(TIMEOUTABLE), 1, 0)
    announcement = gate.poll()
    assert announcement is not None
    gate.convert_to_priority_event(0, 1)
    overtaking = gate.poll()
    assert overtaking is not None
    assert overtaking.received.event == CheckpointBarrier(1, 1, TIMEOUTABLE)
