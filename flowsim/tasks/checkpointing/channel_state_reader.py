"""Reads the in-flight data that a task restores, for its new channels. Flink: SequentialChannelStateReader (rule 12.92)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from flowsim.errors import BadInput, InvariantViolation
from flowsim.state.redistribution.channel_state_handles import (
    InputChannelInfo,
    InputChannelStateHandle,
    ResultSubpartitionInfo,
    ResultSubpartitionStateHandle,
)
from flowsim.state.redistribution.inflight_data_rescaling_descriptor import InflightDataRescalingDescriptor
from flowsim.state.redistribution.operator_state import OperatorSubtaskState
from flowsim.state.snapshots.stored_streams import ChannelStateStream, CheckpointStreams
from flowsim.streamrecord.events import Event, SubtaskConnectionDescriptor

Contents = list[bytes | Event]
"""Stored buffers of one channel in their order; after rescaling each follows the name of its old channel."""


def read_input_data(
    states: Iterable[OperatorSubtaskState], streams: CheckpointStreams
) -> dict[InputChannelInfo, Contents]:
    """Returns the stored data of each new input channel. Raises BadInput if a stream is missing or damaged."""
    found: dict[InputChannelInfo, Contents] = {}
    for state in states:
        for handle in state.input_channels:
            gate, channel = handle.info
            targets = _new_channels(state.input_rescaling, gate, channel)
            if len(targets) != 1:
                # A task processes a buffer once.
                raise InvariantViolation(f"the stored data of channel {channel} of gate {gate} belongs to {targets}")
            old = SubtaskConnectionDescriptor(handle.subtask, channel) if state.input_rescaling.is_rescaled else None
            _add(found.setdefault(InputChannelInfo(gate, targets[0]), []), old, buffers_of(handle, streams))
    return found


def read_output_data(
    states: Iterable[OperatorSubtaskState], streams: CheckpointStreams
) -> dict[ResultSubpartitionInfo, Contents]:
    """Returns the stored data of each new subpartition. Raises BadInput if a stream is missing or damaged."""
    found: dict[ResultSubpartitionInfo, Contents] = {}
    for state in states:
        for handle in state.result_subpartitions:
            partition, subpartition = handle.info
            # The receiver knows the old channel by its own old subtask, which is the old subpartition.
            is_rescaled = state.output_rescaling.is_rescaled
            old = SubtaskConnectionDescriptor(subpartition, handle.subtask) if is_rescaled else None
            for target in _new_channels(state.output_rescaling, partition, subpartition):
                info = ResultSubpartitionInfo(partition, target)
                _add(found.setdefault(info, []), old, buffers_of(handle, streams))
    return found


def _new_channels(rescaling: InflightDataRescalingDescriptor, gate_or_partition: int, old: int) -> tuple[int, ...]:
    if not rescaling.is_rescaled:
        return (old,)
    mappings = rescaling.gate_or_partition_descriptors[gate_or_partition].rescale_mappings
    return mappings.invert().mapped_indexes(old)


def _add(contents: Contents, old: SubtaskConnectionDescriptor | None, buffers: Sequence[bytes]) -> None:
    for buffer in buffers:
        if old is not None:
            contents.append(old)
        contents.append(buffer)


def buffers_of(
    handle: InputChannelStateHandle | ResultSubpartitionStateHandle, streams: CheckpointStreams
) -> Sequence[bytes]:
    """Returns the stored buffers of one channel. Raises BadInput if the stream is missing or damaged."""
    stream = streams.read(handle.stream)
    if not isinstance(stream, ChannelStateStream):
        raise BadInput(f"{handle.stream}: expected stored buffers, got {type(stream).__name__}")
    return [stream.buffers[offset] for offset in handle.offsets]
