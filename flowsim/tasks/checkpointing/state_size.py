"""The size of stored state in bytes, by the encoding of its values (rule 12.142)."""

from __future__ import annotations

from collections.abc import Collection

from flowsim.state.redistribution.operator_state import OperatorSubtaskState
from flowsim.state.snapshots.stored_streams import (
    ChannelStateStream,
    CheckpointStreams,
    KeyedStateStream,
    OperatorStateStream,
    StoredStream,
)
from flowsim.values.encoding import encode_value


def size_of_stream(stream: StoredStream) -> int:
    """Returns the size of the values in a stream, in bytes."""
    if isinstance(stream, ChannelStateStream):
        return sum(map(len, stream.buffers))
    if isinstance(stream, OperatorStateStream):
        return sum(len(encode_value(element)) for element in stream.elements)
    if isinstance(stream, KeyedStateStream):
        cells = (cell for group in stream.cells.values() for cell in group)
        return sum(len(encode_value((cell.namespace, cell.key, cell.content))) for cell in cells)
    timers = (timer for group in stream.timers.values() for timer in group)
    return sum(len(encode_value((timer.timestamp, timer.key, timer.namespace))) for timer in timers)


def size_of_states(states: Collection[OperatorSubtaskState], streams: CheckpointStreams) -> int:
    """Returns the size in bytes of all streams that the states name."""
    written = dict.fromkeys(handle.stream for state in states for handle in state.handles)
    return sum(size_of_stream(streams.read(stream)) for stream in written)
