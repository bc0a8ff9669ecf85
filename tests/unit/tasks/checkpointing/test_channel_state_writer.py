"""Stored buffers of a task: one without bytes counts as stored, and is not replayed (rules 12.84, 12.92)."""

from __future__ import annotations

from flowsim.checkpoints.storage.stream_store import StreamStore
from flowsim.network.channel_state_writer import ChannelStateWriteResult
from flowsim.state.redistribution.channel_state_handles import InputChannelInfo, ResultSubpartitionInfo
from flowsim.state.redistribution.operator_state import OperatorSubtaskState
from flowsim.streamrecord.checkpoint_options import AlignmentType, CheckpointOptions, SnapshotType
from flowsim.streamrecord.events import SubtaskConnectionDescriptor
from flowsim.tasks.checkpointing.channel_state_reader import read_input_data, read_output_data
from flowsim.tasks.checkpointing.channel_state_writer import StoredChannels, TaskChannelStateWriter

READ, UNREAD = ResultSubpartitionInfo(0, 0), ResultSubpartitionInfo(0, 1)
EMPTY = InputChannelInfo(0, 0)


def written(streams: StreamStore) -> tuple[ChannelStateWriteResult, OperatorSubtaskState]:
    """What a task stored: an input buffer and an output buffer without bytes, and another output buffer."""
    writer = TaskChannelStateWriter(StoredChannels(streams, 0, "operator", "operator"))
    writer.start(1, CheckpointOptions(SnapshotType.CHECKPOINT, AlignmentType.UNALIGNED))
    writer.add_input_data(1, EMPTY, [b""])
    writer.add_output_data(1, READ, [b""])
    writer.add_output_data(1, UNREAD, [b"ab", b""])
    writer.finish_input(1)
    writer.finish_output(1)
    result = writer.get_and_remove_write_result(1)
    states: dict[str, OperatorSubtaskState] = {}
    result.write_to(states)
    return result, states["operator"]


def test_buffer_without_bytes_counts_as_stored() -> None:
    result, state = written(StreamStore())
    assert [(each.info, each.offsets, each.size_bytes) for each in state.input_channels] == [(EMPTY, (0,), 0)]
    outputs = [(each.info, each.offsets, each.size_bytes) for each in state.result_subpartitions]
    assert outputs == [(READ, (0,), 0), (UNREAD, (1, 2), 2)]
    assert (result.input_bytes, result.output_bytes) == (0, 2)


def test_buffer_without_bytes_is_not_replayed() -> None:
    streams = StreamStore()
    _, state = written(streams)
    assert read_input_data([state], streams) == {}
    assert read_output_data([state], streams) == {UNREAD: [SubtaskConnectionDescriptor(1, 0), b"ab"]}
