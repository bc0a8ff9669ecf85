"""Events: each is a buffer of its own, outside the byte stream of elements (rule 0.2). Flink: AbstractEvent."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class StopMode(IntEnum):
    """Whether an ending flushes event time (DRAIN) or not. Flink: StopMode."""

    NO_DRAIN = 0
    DRAIN = 1


@dataclass(frozen=True, slots=True)
class EndOfData:
    """No more elements will follow on this channel (rule 4.9). Flink: EndOfData."""

    mode: StopMode


@dataclass(frozen=True, slots=True)
class EndOfPartitionEvent:
    """Nothing at all will follow on this channel (rule 4.18). Flink: EndOfPartitionEvent."""


class Alignment(IntEnum):
    """How a checkpoint barrier travels. Flink: CheckpointOptions.AlignmentType."""

    ALIGNED = 0
    """In line, and its channel is blocked behind it (rule 5.27)."""
    UNALIGNED = 1
    """It overtakes the data before it (rule 5.28)."""
    TIMEOUTABLE = 2
    """In line, until a timeout lets it overtake (rule 5.32)."""


@dataclass(frozen=True, slots=True)
class CheckpointBarrier:
    """Cuts the stream into what a checkpoint holds and what it does not. Flink: CheckpointBarrier."""

    checkpoint_id: int
    timestamp_ms: int
    alignment: Alignment


@dataclass(frozen=True, slots=True)
class CancelCheckpointMarker:
    """The checkpoint will not complete (rule 4.3). Flink: CancelCheckpointMarker."""

    checkpoint_id: int


@dataclass(frozen=True, slots=True)
class EventAnnouncement:
    """A timeoutable barrier is on its way, at this place of its channel. Flink: EventAnnouncement."""

    announced: CheckpointBarrier
    sequence_number: int


Event = EndOfData | EndOfPartitionEvent | CheckpointBarrier | CancelCheckpointMarker | EventAnnouncement
"""The closed set of events."""
