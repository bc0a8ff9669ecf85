"""Events; each event is a separate buffer, outside the byte stream of elements (rule 0.2). Flink: AbstractEvent."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from flowsim.streamrecord.checkpoint_options import CheckpointOptions


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


@dataclass(frozen=True, slots=True)
class CheckpointBarrier:
    """Separates the records before and after a checkpoint. Flink: CheckpointBarrier."""

    checkpoint_id: int
    timestamp_ms: int
    """When the checkpoint was triggered, by the wall clock."""
    options: CheckpointOptions

    def as_unaligned(self) -> CheckpointBarrier:
        """Returns the barrier as it is after its timeout (rule 12.20)."""
        if self.options.is_unaligned_checkpoint:
            return self
        return CheckpointBarrier(self.checkpoint_id, self.timestamp_ms, self.options.to_unaligned())

    def with_unaligned_unsupported(self) -> CheckpointBarrier:
        """Returns the barrier for an exchange that does not support unaligned barriers (rule 12.19)."""
        options = self.options.with_unaligned_unsupported()
        return self if options is self.options else CheckpointBarrier(self.checkpoint_id, self.timestamp_ms, options)


@dataclass(frozen=True, slots=True)
class CancelCheckpointMarker:
    """The event that says that a checkpoint will not complete (rule 4.3). Flink: CancelCheckpointMarker."""

    checkpoint_id: int


@dataclass(frozen=True, slots=True)
class EventAnnouncement:
    """Announces a timeoutable barrier and its position in the channel. Flink: EventAnnouncement."""

    announced: CheckpointBarrier
    sequence_number: int


@dataclass(frozen=True, slots=True)
class EndOfOutputChannelStateEvent:
    """Ends the restored in-flight data of a sender; blocks the channel until all of the gate have it (rule 12.95).

    Flink: EndOfOutputChannelStateEvent.
    """


@dataclass(frozen=True, slots=True)
class EndOfInputChannelStateEvent:
    """Ends the restored in-flight data of a receiver; it never leaves the receiver (rule 12.92).

    Flink: EndOfInputChannelStateEvent.
    """


@dataclass(frozen=True, slots=True)
class SubtaskConnectionDescriptor:
    """Names the old channel of the restored data that follows, after rescaling (rule 12.102).

    Flink: SubtaskConnectionDescriptor.
    """

    input_subtask: int
    """The old subtask of the receiver."""
    output_subtask: int
    """The old subtask of the sender."""


Event = (
    EndOfData
    | EndOfPartitionEvent
    | CheckpointBarrier
    | CancelCheckpointMarker
    | EventAnnouncement
    | EndOfOutputChannelStateEvent
    | EndOfInputChannelStateEvent
    | SubtaskConnectionDescriptor
)
"""Any event; the set is closed."""
