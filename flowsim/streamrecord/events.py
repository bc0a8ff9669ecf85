"""Events; each event is a separate buffer, outside the byte stream of elements (rule 0.2). Flink: AbstractEvent."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class StopMode(IntEnum):
    """How the end of a job treats event time: DRAIN flushes it, NO_DRAIN does not. Flink: StopMode."""

    NO_DRAIN = 0
    DRAIN = 1


@dataclass(frozen=True, slots=True)
class EndOfData:
    """The event after which no more elements follow on this channel (rule 4.9). Flink: EndOfData."""

    mode: StopMode


@dataclass(frozen=True, slots=True)
class EndOfPartitionEvent:
    """The event after which neither elements nor events follow on this channel (rule 4.18).

    Flink: EndOfPartitionEvent.
    """


class Alignment(IntEnum):
    """The alignment of a checkpoint barrier. Flink: CheckpointOptions.AlignmentType."""

    ALIGNED = 0
    """The barrier stays in order and blocks its channel (rule 5.27)."""
    UNALIGNED = 1
    """The barrier overtakes earlier data (rule 5.28)."""
    TIMEOUTABLE = 2
    """The barrier stays in order until a timeout makes it unaligned (rule 5.32)."""


@dataclass(frozen=True, slots=True)
class CheckpointBarrier:
    """Separates the records before and after a checkpoint. Flink: CheckpointBarrier."""

    checkpoint_id: int
    timestamp_ms: int
    alignment: Alignment


@dataclass(frozen=True, slots=True)
class CancelCheckpointMarker:
    """The event that says that a checkpoint will not complete (rule 4.3). Flink: CancelCheckpointMarker."""

    checkpoint_id: int


@dataclass(frozen=True, slots=True)
class EventAnnouncement:
    """Announces a timeoutable barrier and its position in the channel. Flink: EventAnnouncement."""

    announced: CheckpointBarrier
    sequence_number: int


Event = EndOfData | EndOfPartitionEvent | CheckpointBarrier | CancelCheckpointMarker | EventAnnouncement
"""Any event; the set is closed."""
