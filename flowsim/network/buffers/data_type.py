"""What a buffer holds, and what that does to the channel it travels on. Flink: Buffer.DataType."""

from __future__ import annotations

from enum import Enum

from flowsim.streamrecord.events import Alignment, CheckpointBarrier, EndOfData, EndOfPartitionEvent, Event


class DataType(Enum):
    """Flink: Buffer.DataType."""

    NONE = "NONE"
    DATA_BUFFER = "DATA_BUFFER"
    EVENT_BUFFER = "EVENT_BUFFER"
    PRIORITIZED_EVENT_BUFFER = "PRIORITIZED_EVENT_BUFFER"
    ALIGNED_CHECKPOINT_BARRIER = "ALIGNED_CHECKPOINT_BARRIER"
    TIMEOUTABLE_ALIGNED_CHECKPOINT_BARRIER = "TIMEOUTABLE_ALIGNED_CHECKPOINT_BARRIER"
    END_OF_DATA = "END_OF_DATA"
    END_OF_PARTITION = "END_OF_PARTITION"

    is_event: bool
    """Costs no credit and is no backlog (rules 5.18, 6.11)."""
    is_blocking_upstream: bool
    """Nothing leaves the subpartition behind it until it is resumed (rule 5.27)."""
    has_priority: bool
    """It overtakes (rule 5.28)."""
    requires_announcement: bool
    """The receiver is told at once, ahead of what came before, that it will come."""

    def __init__(self, name: str) -> None:
        self.is_event = name not in ("NONE", "DATA_BUFFER")
        self.is_blocking_upstream = name.endswith("ALIGNED_CHECKPOINT_BARRIER")
        self.has_priority = name == "PRIORITIZED_EVENT_BUFFER"
        self.requires_announcement = name == "TIMEOUTABLE_ALIGNED_CHECKPOINT_BARRIER"


def data_type_of(event: Event, has_priority: bool = False) -> DataType:
    """How an event travels."""
    if has_priority:
        return DataType.PRIORITIZED_EVENT_BUFFER
    if isinstance(event, CheckpointBarrier):
        return _BARRIERS[event.alignment]
    if isinstance(event, EndOfData):
        return DataType.END_OF_DATA
    if isinstance(event, EndOfPartitionEvent):
        return DataType.END_OF_PARTITION
    return DataType.EVENT_BUFFER


_BARRIERS = {
    Alignment.ALIGNED: DataType.ALIGNED_CHECKPOINT_BARRIER,
    Alignment.TIMEOUTABLE: DataType.TIMEOUTABLE_ALIGNED_CHECKPOINT_BARRIER,
    Alignment.UNALIGNED: DataType.EVENT_BUFFER,
}
