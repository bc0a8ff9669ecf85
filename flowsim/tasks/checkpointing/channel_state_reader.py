"""Reads the in-flight data that a task restores, for its new channels. Flink: SequentialChannelStateReader (rule 12.92)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from typing import TypeVar

from flowsim.errors import BadInput, InvariantViolation
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
from flowsim.streamrecord.events import Event, SubtaskConnectionDescriptor

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
