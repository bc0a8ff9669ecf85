"""Describes a polled buffer as the oracle does."""

from __future__ import annotations

from typing import Any

from flowsim.network.buffers.data_type import DataType, data_type_of
from flowsim.network.partitions.result_subpartition import BufferAndBacklog
from flowsim.streamrecord.events import Event


def buffer_type(event: Event | None) -> str:
    """Flink's name of what a buffer holds."""
    return DataType.DATA_BUFFER.name if event is None else data_type_of(event).name


def described(polled: BufferAndBacklog | None) -> dict[str, Any] | None:
    """Length, type, backlog, what is next, and sequence number; None stays None."""
    if polled is None:
        return None
    return {
        "len": len(polled.buffer), "type": polled.buffer.data_type.name, "backlog": polled.backlog,
        "next": polled.next_type.name, "seq": polled.sequence_number,
    }  # fmt: skip
