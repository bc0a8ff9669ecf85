"""Events by the names that the Java probes use (``Events.java``), and back."""

from __future__ import annotations

from typing import Final

from flowsim.network.buffers.buffer import EventBuffer
from flowsim.streamrecord.events import (
    CancelCheckpointMarker,
    CheckpointBarrier,
    EndOfData,
    EndOfPartitionEvent,
    Event,
    EventAnnouncement,
    StopMode,
)
from tests.support.barriers import BY_NAME

BARRIERS: Final = ("aligned", "timeoutable", "unaligned")


def event_of(name: str, number: int) -> Event:
    """``number`` is the checkpoint of a barrier or marker."""
    match name:
        case "drain":
            return EndOfData(StopMode.DRAIN)
        case "no drain":
            return EndOfData(StopMode.NO_DRAIN)
        case "end":
            return EndOfPartitionEvent()
        case "cancel":
            return CancelCheckpointMarker(number)
    return CheckpointBarrier(number, 1, BY_NAME[name])


def event_buffer(name: str, number: int) -> EventBuffer:
    return EventBuffer(event_of(name, number), has_priority=name == "unaligned")


def name_of(event: Event) -> str:
    match event:
        case EndOfData(mode):
            return "drain" if mode is StopMode.DRAIN else "no drain"
        case EndOfPartitionEvent():
            return "end"
        case CancelCheckpointMarker(number):
            return f"cancel {number}"
        case EventAnnouncement(announced, sequence_number):
            return f"announced {sequence_number} {name_of(announced)}"
        case CheckpointBarrier(number, _, options):
            name = next(name for name, known in BY_NAME.items() if known == options)
            return f"{name} {number}"
