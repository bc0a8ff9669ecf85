"""Where the in-flight data of a channel is stored in a checkpoint. Flink: AbstractChannelStateHandle (rule 12.83)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class InputChannelInfo(NamedTuple):
    """An input channel of a task. Flink: InputChannelInfo."""

    gate: int
    """The index of the gate in the task."""
    channel: int
    """The index of the channel in its gate."""


class ResultSubpartitionInfo(NamedTuple):
    """A subpartition that a task writes. Flink: ResultSubpartitionInfo."""

    partition: int
    """The index of the partition in the task, in the order of its output edges."""
    subpartition: int
    """The index of the subpartition in its partition."""


@dataclass(frozen=True, slots=True)
class InputChannelStateHandle:
    """The stored buffers of one input channel. Flink: InputChannelStateHandle."""

    stream: str
    """The identifier of the stream, which the channels of a task share."""
    subtask: int
    """The index of the subtask that stored them."""
    info: InputChannelInfo
    offsets: tuple[int, ...]
    """The indexes of the buffers in the stream, in the order of the channel."""
    size_bytes: int
    """The size of these buffers."""


@dataclass(frozen=True, slots=True)
class ResultSubpartitionStateHandle:
    """The stored buffers of one subpartition. Flink: ResultSubpartitionStateHandle."""

    stream: str
    """The identifier of the stream, which the subpartitions of a task share."""
    subtask: int
    """The index of the subtask that stored them."""
    info: ResultSubpartitionInfo
    offsets: tuple[int, ...]
    """The indexes of the buffers in the stream, in the order of the subpartition."""
    size_bytes: int
    """The size of these buffers."""
