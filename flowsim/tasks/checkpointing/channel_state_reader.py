"""Reads the in-flight data that a task restores. Flink: SequentialChannelStateReader (rules 12.83, 12.92)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from flowsim.state.redistribution.channel_state_handles import (
    InputChannelInfo,
    InputChannelStateHandle,
    ResultSubpartitionInfo,
    ResultSubpartitionStateHandle,
)
from flowsim.state.redistribution.operator_state import OperatorSubtaskState
from flowsim.state.snapshots.stored_streams import ChannelStateStream, CheckpointStreams
from flowsim.streamrecord.events import Event

Contents = list[bytes | Event]
"""Stored buffers of one channel in their order."""


def read_input_data(
    states: Iterable[OperatorSubtaskState], streams: CheckpointStreams
) -> dict[InputChannelInfo, Contents]:
    """Returns the stored data of each input channel. Raises BadInput if a stream is missing or damaged."""
    found: dict[InputChannelInfo, Contents] = {}
    for state in states:
        for handle in state.input_channels:
            found.setdefault(handle.info, []).extend(_buffers(handle, streams))
    return found


def read_output_data(
    states: Iterable[OperatorSubtaskState], streams: CheckpointStreams
) -> dict[ResultSubpartitionInfo, Contents]:
    """Returns the stored data of each subpartition. Raises BadInput if a stream is missing or damaged."""
    found: dict[ResultSubpartitionInfo, Contents] = {}
    for state in states:
        for handle in state.result_subpartitions:
            found.setdefault(handle.info, []).extend(_buffers(handle, streams))
    return found


def _buffers(
    handle: InputChannelStateHandle | ResultSubpartitionStateHandle, streams: CheckpointStreams
) -> Sequence[bytes]:
    stream = streams.read(handle.stream)
    assert isinstance(stream, ChannelStateStream)
    return [stream.buffers[offset] for offset in handle.offsets]
