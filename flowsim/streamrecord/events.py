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


Event = EndOfData | EndOfPartitionEvent
"""The closed set of events so far."""
