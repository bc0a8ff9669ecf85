"""Replays the in-flight data of a restored task before it is RUNNING (rule 12.92). Flink: StreamTask.restoreStateAndGates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Protocol

from flowsim.mailbox.mailbox_executor import MailboxExecutor
from flowsim.network.gates.recovered_input_channel import RecoveredInputChannel
from flowsim.network.gates.single_input_gate import SingleInputGate
from flowsim.network.partitions.blocking_result_partition import BlockingResultPartition
from flowsim.network.writers.record_writer import RecordWriter
from flowsim.state.redistribution.channel_state_handles import ResultSubpartitionInfo
from flowsim.streamrecord.events import EndOfOutputChannelStateEvent
from flowsim.tasks.checkpointing.channel_state_reader import Contents, read_input_data, read_output_data
from flowsim.tasks.checkpointing.job_master_gateway import TaskCheckpointing
from flowsim.tasks.inputs.demultiplexing_record_deserializer import (
    DemultiplexingRecordDeserializer,
    VirtualChannels,
    virtual_channels,
)
from flowsim.tasks.inputs.multiple_input_processor import network_inputs
from flowsim.tasks.inputs.task_input import TaskInput


class RecoveringTask(Protocol):
    """What the recovery needs of its task."""

    input: TaskInput
    writers: Sequence[RecordWriter]

    def mailbox_executor(self, priority: int) -> MailboxExecutor: ...


class ChannelRecovery:
    """The stored data of the channels of one attempt.

    ``gates``: those of each input; until their stored data has been read, no sender is connected to them.
    """

    __slots__ = ("_task", "_inputs", "_gates", "_checkpointing")

    def __init__(
        self, task: RecoveringTask, gates: Sequence[Sequence[SingleInputGate]], checkpointing: TaskCheckpointing
    ) -> None:
        self._task = task
        self._inputs = gates
        self._gates = [gate for of_input in gates for gate in of_input]
        self._checkpointing = checkpointing
        for gate in self._gates:
            gate.await_recovery()

    def recover_outputs(self) -> None:
        """Queues the stored data of outputs, and its end, in all subpartitions; called before the operators open."""
        restore = self._checkpointing.restore
        stored = {} if restore is None else read_output_data(restore.states.values(), self._checkpointing.streams)
        for number, writer in enumerate(self._task.writers):
            if isinstance(writer.partition, BlockingResultPartition):
                continue
            for subpartition in range(writer.partition.count):
                for content in stored.get(ResultSubpartitionInfo(number, subpartition), ()):
                    writer.recover(subpartition, content)
                writer.recover(subpartition, EndOfOutputChannelStateEvent())

    def recover_inputs(self, on_recovered: Callable[[], None]) -> None:
        """Lets the inputs read their stored data; calls back when all of it has been read."""
        restore = self._checkpointing.restore
        stored = {} if restore is None else read_input_data(restore.states.values(), self._checkpointing.streams)
        left = len(self._gates)
        mails = self._task.mailbox_executor(-1)

        def on_gate(gate: SingleInputGate) -> None:
            nonlocal left
            left -= 1
            mails.execute(gate.request_partitions, "input gate request partitions")
            if not left:
                on_recovered()

        self._demultiplex()
        for number, gate in enumerate(self._gates):
            of_gate = {info.channel: contents for info, contents in stored.items() if info.gate == number}
            _recover_gate(gate, of_gate, partial(on_gate, gate))
        if not self._gates:
            on_recovered()

    def _demultiplex(self) -> None:
        """Lets inputs decode several old channels in one, if the job was rescaled (rule 12.102)."""
        restore = self._checkpointing.restore
        states = () if restore is None else restore.states.values()
        rescaling = next((each.input_rescaling for each in states if each.input_rescaling.is_rescaled), None)
        if rescaling is None:
            return
        filters, first = self._checkpointing.record_filters, 0
        for each, of_input in zip(network_inputs(self._task.input), self._inputs, strict=True):
            channels: list[VirtualChannels] = []
            for number, gate in enumerate(of_input, first):
                descriptor = rescaling.gate_or_partition_descriptors[number]
                channels += virtual_channels(descriptor, gate.count, filters[number])
            each.demultiplex(DemultiplexingRecordDeserializer(channels))
            first += len(of_input)


def _recover_gate(gate: SingleInputGate, stored: Mapping[int, Contents], on_recovered: Callable[[], None]) -> None:
    left = len(stored)

    def on_consumed() -> None:
        nonlocal left
        left -= 1
        if not left:
            on_recovered()

    channels = {}
    for index in sorted(stored):
        channel = gate.channel(index)
        channels[index] = RecoveredInputChannel(gate, channel.index, channel.channel_id, stored[index], on_consumed)
    gate.recover(channels)
    if not stored:
        on_recovered()
