"""Events: each is a separate buffer, outside the byte stream of elements (rule 0.2). Flink: AbstractEvent."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class StopMode(IntEnum):
    """Whether the end of a job flushes event time (DRAIN) or not. Flink: StopMode."""

    NO_DRAIN = 0
    DRAIN = 1


@dataclass(frozen=True, slots=True)
class EndOfData:
    """No more elements will follow on this channel (rule 4.9). Flink: EndOfData."""

    mode: StopMode


@dataclass(frozen=True, slots=True)
class EndOfPartitionEvent:
    """Neither elements nor events will follow on this channel (rule 4.18). Flink: EndOfPartitionEvent."""


class Alignment(IntEnum):
    """How a checkpoint barrier is aligned. Flink: CheckpointOptions.AlignmentType."""

    ALIGNED = 0
    """In order; blocks its channel (rule 5.27)."""
    UNALIGNED = 1
    """Overtakes earlier data (rule 5.28)."""
    TIMEOUTABLE = 2
    """In order, until a timeout makes it unaligned (rule 5.32)."""


@dataclass(frozen=True, slots=True)
class CheckpointBarrier:
    """Separates the records before and after a checkpoint. Flink: CheckpointBarrier."""

    checkpoint_id: int
    timestamp_ms: int
    alignment: Alignment


@dataclass(frozen=True, slots=True)
class CancelCheckpointMarker:
    """The checkpoint will not complete (rule 4.3). Flink: CancelCheckpointMarker."""

    checkpoint_id: int


@dataclass(frozen=True, slots=True)
class EventAnnouncement:
    """Announces a timeoutable barrier and its position in the channel. Flink: EventAnnouncement."""

    announced: CheckpointBarrier
    sequence_number: int


Event = EndOfData | EndOfPartitionEvent | CheckpointBarrier | CancelCheckpointMarker | EventAnnouncement
"""The closed set of events."""
