"""What a buffer holds. Flink: Buffer.DataType."""

from __future__ import annotations

from enum import Enum

from flowsim.facts.kinds import BufferKind
from flowsim.streamrecord.events import (
    CheckpointBarrier,
    EndOfData,
    EndOfInputChannelStateEvent,
    EndOfOutputChannelStateEvent,
    EndOfPartitionEvent,
    Event,
)


class DataType(Enum):
    """The kind of content of a buffer. Flink: Buffer.DataType."""

    NONE = "NONE"
    DATA_BUFFER = "DATA_BUFFER"
    EVENT_BUFFER = "EVENT_BUFFER"
    PRIORITIZED_EVENT_BUFFER = "PRIORITIZED_EVENT_BUFFER"
    ALIGNED_CHECKPOINT_BARRIER = "ALIGNED_CHECKPOINT_BARRIER"
    TIMEOUTABLE_ALIGNED_CHECKPOINT_BARRIER = "TIMEOUTABLE_ALIGNED_CHECKPOINT_BARRIER"
    RECOVERY_COMPLETION = "RECOVERY_COMPLETION"
    END_OF_DATA = "END_OF_DATA"
    END_OF_PARTITION = "END_OF_PARTITION"

    is_event: bool
    """True for an event: it needs no credit and does not count as backlog (rules 5.18, 6.11)."""
    is_blocking_upstream: bool
    """True if the event blocks its subpartition until the reader resumes consumption (rule 5.27)."""
    has_priority: bool
    """True if the event overtakes queued buffers (rule 5.28)."""
    requires_announcement: bool
    """True if the event is announced to the receiver at once, before earlier data."""

    def __init__(self, name: str) -> None:
        self.is_event = name not in ("NONE", "DATA_BUFFER")
        self.is_blocking_upstream = name.endswith("ALIGNED_CHECKPOINT_BARRIER") or name == "RECOVERY_COMPLETION"
        self.has_priority = name == "PRIORITIZED_EVENT_BUFFER"
        self.requires_announcement = name == "TIMEOUTABLE_ALIGNED_CHECKPOINT_BARRIER"


def buffer_kind(data_type: DataType) -> BufferKind:
    """Returns the kind of a buffer in facts."""
    if data_type is DataType.DATA_BUFFER:
        return BufferKind.DATA
    return BufferKind.PRIORITY_EVENT if data_type.has_priority else BufferKind.EVENT


def data_type_of(event: Event, has_priority: bool = False) -> DataType:
    """Returns the data type of an event."""
    if has_priority:
        return DataType.PRIORITIZED_EVENT_BUFFER
    if isinstance(event, CheckpointBarrier):
        if not event.options.needs_alignment:
            return DataType.EVENT_BUFFER
        if event.options.is_timeoutable:
            return DataType.TIMEOUTABLE_ALIGNED_CHECKPOINT_BARRIER
        return DataType.ALIGNED_CHECKPOINT_BARRIER
    if isinstance(event, EndOfData):
        return DataType.END_OF_DATA
    if isinstance(event, EndOfPartitionEvent):
        return DataType.END_OF_PARTITION
    if isinstance(event, EndOfOutputChannelStateEvent | EndOfInputChannelStateEvent):
        return DataType.RECOVERY_COMPLETION
    return DataType.EVENT_BUFFER
