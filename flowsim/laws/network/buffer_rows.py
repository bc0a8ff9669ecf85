"""Shared parts of the laws about network buffers: the steps of buffers, and the judged channels of each task."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from flowsim.facts.kinds import BufferKind, BufferSide
from flowsim.laws.job_graph import Channel, JobGraph, Task

SENT, RECEIVED, QUEUED, FLUSHED, SKIPPED, RECYCLED, PRIORITIZED = (int(side) for side in BufferSide)
DATA: Final = int(BufferKind.DATA)


@dataclass(frozen=True, slots=True)
class ChannelsByTask:
    """The judged channels, by sending and by receiving task."""

    sent: dict[int, list[int]] = field(default_factory=dict)
    received: dict[int, list[int]] = field(default_factory=dict)

    def has(self, task: Task) -> bool:
        """Whether a task sends or receives on one of them."""
        return task.task in self.sent or task.task in self.received

    @classmethod
    def of(cls, channels: Iterable[Channel]) -> ChannelsByTask:
        """Groups channels by their tasks."""
        by_task = cls()
        for channel in channels:
            by_task.sent.setdefault(channel.source_task, []).append(channel.channel)
            by_task.received.setdefault(channel.target_task, []).append(channel.channel)
        return by_task


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
