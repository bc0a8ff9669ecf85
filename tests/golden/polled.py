"""Describes a polled buffer as the oracle does."""

from __future__ import annotations

from typing import Any

from flowsim.network.subpartition import BufferAndBacklog, PipelinedSubpartition
from flowsim.streamrecord.events import EndOfData, EndOfPartitionEvent, Event

TYPES: dict[type[Event], str] = {EndOfData: "END_OF_DATA", EndOfPartitionEvent: "END_OF_PARTITION"}


def buffer_type(event: Event | None) -> str:
    """Flink's name of what a buffer holds."""
    return "DATA_BUFFER" if event is None else TYPES[type(event)]


def described(polled: BufferAndBacklog | None, subpartition: PipelinedSubpartition) -> dict[str, Any] | None:
    """Length, type, backlog, what is next, and sequence number; None stays None."""
    if polled is None:
        return None
    following = "NONE"
    if polled.next_is_data or polled.next_is_event:
        following = buffer_type(subpartition.buffers[0].event)
        assert polled.next_is_data == (following == "DATA_BUFFER")
    return {
        "len": len(polled.buffer), "type": buffer_type(polled.buffer.event), "backlog": polled.backlog,
        "next": following, "seq": polled.sequence_number,
    }  # fmt: skip
