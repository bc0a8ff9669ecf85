"""The content of the streams that state handles name, and where tasks write and read it (rules 12.65, 12.66).

Flink: CheckpointStreamFactory, KeyedBackendSerializationProxy, OperatorBackendSerializationProxy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple, Protocol

from flowsim.values.encoding import encode_value


class StreamKind(Enum):
    """What a stream contains."""

    KEYED_STATE = "keyed_state"
    TIMERS = "timers"
    OPERATOR_STATE = "operator_state"
    CHANNEL_STATE = "channel_state"


# Named tuples: a snapshot of a million keys creates them in a fifth of the time of a frozen dataclass.
class StoredCell(NamedTuple):
    """One cell of keyed state. All values are of the closed set of ``flowsim.values``.

    ``content``: the value, the accumulator, the list of a list state, or the list of (key, value) pairs of a map state;
    with a time to live each of these values is a pair of the value and its last access in ms.
    """

    state: str
    namespace: object
    """None: outside windows; a window is a tuple that its operator can turn back into the window."""
    key: object
    content: object


class StoredTimer(NamedTuple):
    """One timer. ``is_event_time``: its time domain."""

    service: str
    is_event_time: bool
    timestamp: int
    key: object
    namespace: object


@dataclass(frozen=True, slots=True)
class KeyedStateStream:
    """The keyed state of one operator subtask, by key group."""

    cells: Mapping[int, tuple[StoredCell, ...]]
    descriptions: Mapping[str, str] = field(default_factory=dict)
    """The kind of each state (value, list, map, reducing, aggregating), with TTL or not, to refuse another kind."""


@dataclass(frozen=True, slots=True)
class TimerStream:
    """The timers of one operator subtask, by key group."""

    timers: Mapping[int, tuple[StoredTimer, ...]]


@dataclass(frozen=True, slots=True)
class OperatorStateStream:
    """The elements of all operator states of one operator subtask.

    The offsets of a handle are indexes of ``elements``. A broadcast state is one element: the tuple of its (key, value)
    pairs.
    """

    elements: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class ChannelStateStream:
    """Buffers of the channels of one task. The offsets of a handle are indexes of ``buffers`` (rule 12.83)."""

    buffers: tuple[bytes, ...]


StoredStream = KeyedStateStream | TimerStream | OperatorStateStream | ChannelStateStream


def size_of_stream(stream: StoredStream) -> int:
    """Returns the size of the values in a stream in bytes, by their encoding (rule 12.142)."""
    if isinstance(stream, ChannelStateStream):
        return sum(map(len, stream.buffers))
    if isinstance(stream, OperatorStateStream):
        return sum(len(encode_value(element)) for element in stream.elements)
    if isinstance(stream, KeyedStateStream):
        cells = (cell for group in stream.cells.values() for cell in group)
        return sum(len(encode_value((cell.namespace, cell.key, cell.content))) for cell in cells)
    timers = (timer for group in stream.timers.values() for timer in group)
    return sum(len(encode_value((timer.timestamp, timer.key, timer.namespace))) for timer in timers)


class CheckpointStreams(Protocol):
    """Stores the streams of checkpoints.

    A Protocol, because this package does not know the storage of checkpoints.
    Flink: CheckpointStorageWorkerView, CheckpointStreamFactory.
    """

    def write(self, checkpoint_id: int, operator_id: str, subtask: int, stream: StoredStream) -> str:
        """Stores a stream in the asynchronous part of a checkpoint; returns its identifier."""
        ...

    def keeps(self, checkpoint_id: int) -> bool:
        """True until the snapshot is complete or aborted; streams that are written later are dropped."""
        ...

    def read(self, stream_id: str) -> StoredStream:
        """Returns a stored stream. Raises BadInput if its file is missing or damaged."""
        ...
