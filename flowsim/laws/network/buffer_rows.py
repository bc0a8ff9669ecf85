"""Shared parts of the laws about network buffers: rows of table ``buffers``, and the judged channels of each task."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from flowsim.facts.kinds import BufferKind, BufferSide
from flowsim.laws.job_graph import Channel, JobGraph
from flowsim.laws.slices import Row, Slice

COLUMNS: Final = ("side", "channel", "kind", "credits", "number", "bytes", "backlog", "whole")
SENT, RECEIVED, QUEUED, FLUSHED, SKIPPED, RECYCLED, PRIORITIZED = (int(side) for side in BufferSide)
DATA: Final = int(BufferKind.DATA)


def buffer_rows(facts: Slice) -> list[Row]:
    """The rows of table ``buffers``, each with ``seq`` and then ``COLUMNS``; use with ``Slice.once``."""
    return facts.of("buffers").tuples(("seq", *COLUMNS))


@dataclass(frozen=True, slots=True)
class ChannelsByTask:
    """The judged channels, by sending and by receiving task."""

    sent: dict[int, list[int]] = field(default_factory=dict)
    received: dict[int, list[int]] = field(default_factory=dict)

    @classmethod
    def of(cls, channels: Iterable[Channel]) -> ChannelsByTask:
        """Groups channels by their tasks."""
        found = cls()
        for channel in channels:
            found.sent.setdefault(channel.source_task, []).append(channel.channel)
            found.received.setdefault(channel.target_task, []).append(channel.channel)
        return found


def remote(graph: JobGraph) -> ChannelsByTask:
    """The channels between task managers; use with ``JobGraph.once``."""
    return ChannelsByTask.of(channel for channel in graph.channels.values() if not channel.local)


def remote_pipelined(graph: JobGraph) -> ChannelsByTask:
    """The remote channels of pipelined edges; use with ``JobGraph.once``."""
    return ChannelsByTask.of(
        channel
        for channel in graph.channels.values()
        if not channel.local and graph.edges[channel.edge].exchange != "BLOCKING"
    )
