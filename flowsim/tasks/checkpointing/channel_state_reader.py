"""Reads the in-flight data that a task restores, and replays it before the task is RUNNING (rule 12.92).

Flink: SequentialChannelStateReader, StreamTask.restoreStateAndGates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import TypeVar

from flowsim.errors import BadInput, InvariantViolation
from flowsim.mailbox.mailbox_executor import MailboxExecutor
from flowsim.network.gates.recovered_input_channel import RecoveredInputChannel
from flowsim.network.gates.single_input_gate import SingleInputGate
from flowsim.network.partitions.blocking_result_partition import BlockingResultPartition
from flowsim.network.writers.record_writer import RecordWriter
from flowsim.state.redistribution.channel_state_handles import (
    InputChannelInfo,
    InputChannelStateHandle,
    ResultSubpartitionInfo,
    ResultSubpartitionStateHandle,
)
from flowsim.state.redistribution.inflight_data_rescaling_descriptor import InflightDataRescalingDescriptor
from flowsim.state.redistribution.operator_state import OperatorSubtaskState
from flowsim.state.redistribution.rescale_mappings import RescaleMappings
from flowsim.state.snapshots.stored_streams import ChannelStateStream, CheckpointStreams
from flowsim.streamrecord.events import EndOfOutputChannelStateEvent, Event, SubtaskConnectionDescriptor
from flowsim.tasks.checkpointing.job_master_gateway import TaskCheckpointing
from flowsim.tasks.inputs.demultiplexing_record_deserializer import (
    DemultiplexingRecordDeserializer,
    VirtualChannels,
    virtual_channels,
)
from flowsim.tasks.inputs.network_input import StreamTaskNetworkInput

Handle = TypeVar("Handle", InputChannelStateHandle, ResultSubpartitionStateHandle)
Contents = list[bytes | Event]
"""Stored buffers of one channel in their order; each follows the name of its old channel."""


def read_input_data(
    states: Iterable[OperatorSubtaskState], streams: CheckpointStreams
) -> dict[InputChannelInfo, Contents]:
    """Returns the stored data of each new input channel. Raises BadInput if a stream is missing or damaged."""
    contents: dict[InputChannelInfo, Contents] = {}
    for state in states:
        mappings = _new_of_old(state.input_rescaling)
        for handle, buffer in _in_order_of_streams(state.input_channels, streams):
            gate, channel = handle.info
            targets = mappings[gate].mapped_indexes(channel) if mappings else (channel,)
            if len(targets) != 1:
                # A task processes a buffer once.
                raise InvariantViolation(f"the stored data of channel {channel} of gate {gate} belongs to {targets}")
            old = SubtaskConnectionDescriptor(handle.subtask, channel)
            contents.setdefault(InputChannelInfo(gate, targets[0]), []).extend((old, buffer))
    return contents


def read_output_data(
    states: Iterable[OperatorSubtaskState], streams: CheckpointStreams
) -> dict[ResultSubpartitionInfo, Contents]:
    """Returns the stored data of each new subpartition. Raises BadInput if a stream is missing or damaged."""
    contents: dict[ResultSubpartitionInfo, Contents] = {}
    for state in states:
        mappings = _new_of_old(state.output_rescaling)
        for handle, buffer in _in_order_of_streams(state.result_subpartitions, streams):
            partition, subpartition = handle.info
            # The receiver knows the old channel by its own old subtask, which is the old subpartition.
            old = SubtaskConnectionDescriptor(subpartition, handle.subtask)
            targets = mappings[partition].mapped_indexes(subpartition) if mappings else (subpartition,)
            if not targets:
                raise InvariantViolation(
                    f"the stored data of subpartition {subpartition} of {partition} belongs to none"
                )
            for target in targets:
                contents.setdefault(ResultSubpartitionInfo(partition, target), []).extend((old, buffer))
    return contents


def _new_of_old(rescaling: InflightDataRescalingDescriptor) -> list[RescaleMappings]:
    """Returns the new channels of each old one, by gate or partition; nothing if the channels are the old ones."""
    return [each.rescale_mappings.invert() for each in rescaling.gate_or_partition_descriptors]


def _in_order_of_streams(handles: Iterable[Handle], streams: CheckpointStreams) -> Iterator[tuple[Handle, bytes]]:
    """Yields the buffers with bytes of one stream after the other, each stream from its beginning to its end."""
    places: dict[str, list[tuple[int, Handle, bytes]]] = {}
    for handle in handles:
        buffers = zip(handle.offsets, buffers_of(handle, streams), strict=True)
        places.setdefault(handle.stream, []).extend((offset, handle, buffer) for offset, buffer in buffers)
    for of_stream in places.values():
        for _, handle, buffer in sorted(of_stream, key=itemgetter(0)):
            if buffer:
                yield handle, buffer


def buffers_of(
    handle: InputChannelStateHandle | ResultSubpartitionStateHandle, streams: CheckpointStreams
) -> Sequence[bytes]:
    """Returns the stored buffers of one channel. Raises BadInput if the stream is missing or damaged."""
    stream = streams.read(handle.stream)
    if not isinstance(stream, ChannelStateStream):
        raise BadInput(f"{handle.stream}: expected stored buffers, got {type(stream).__name__}")
    return [stream.buffers[offset] for offset in handle.offsets]


class ChannelRecovery:
    """The stored data of the channels of one attempt.

    ``gates``: those of each of ``inputs``; until their stored data has been read, no sender is connected to them.
    ``mails`` has the priority of the task.
    """

    __slots__ = ("_inputs", "_gates_of_inputs", "_gates", "_writers", "_mails", "_checkpointing")

    def __init__(
        self,
        inputs: Sequence[StreamTaskNetworkInput],
        gates: Sequence[Sequence[SingleInputGate]],
        writers: Sequence[RecordWriter],
        mails: MailboxExecutor,
        checkpointing: TaskCheckpointing,
    ) -> None:
        self._inputs = inputs
        self._gates_of_inputs = gates
        self._writers = writers
        self._mails = mails
        self._gates = [gate for of_input in gates for gate in of_input]
        self._checkpointing = checkpointing
        for gate in self._gates:
            gate.await_recovery()

    def recover_outputs(self) -> None:
        """Queues the stored data of outputs, and its end, in all subpartitions; called before the operators open."""
        restore = self._checkpointing.restore
        stored = {} if restore is None else read_output_data(restore.states.values(), self._checkpointing.streams)
        for number, writer in enumerate(self._writers):
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

        def on_gate(gate: SingleInputGate) -> None:
            nonlocal left
            left -= 1
            self._mails.execute(gate.request_partitions, "input gate request partitions")
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
        for each, of_input in zip(self._inputs, self._gates_of_inputs, strict=True):
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
