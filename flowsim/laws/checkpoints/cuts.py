"""The cuts of checkpoints in the channels of one task: what it sent before its barriers, and received before its
snapshots."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from flowsim.facts.kinds import ElementKind
from flowsim.laws.checkpoints.needs import SYNC_START
from flowsim.laws.findings import FoundByLaw
from flowsim.laws.job_graph import JobGraph, Task
from flowsim.laws.machine import Machine, reads
from flowsim.laws.slices import Ints, Rows, Slice

Cut = tuple[int, int]
"""A channel and a checkpoint."""


@dataclass(slots=True)
class Cuts:
    """The cuts of one attempt of a task."""

    sent: dict[Cut, int] = field(default_factory=dict)
    """Number of elements that the task sent before its barrier, without barriers and cancellations."""
    overtaking: set[Cut] = field(default_factory=set)
    """The cuts whose barrier may overtake elements, which the checkpoint then stores."""
    sent_in_all: dict[int, int] = field(default_factory=dict)
    """By channel, also without END_OF_PARTITION."""
    received: dict[int, dict[int, int]] = field(default_factory=dict)
    """By checkpoint with a snapshot and channel the number of elements received before, without barriers,
    cancellations and restored in-flight data."""


class CutsOfTask(Machine):
    """Finds the cuts of one attempt of a task."""

    def __init__(
        self, graph: JobGraph, task: Task, found: FoundByLaw, examined: Callable[[int], bool] = lambda checkpoint: True
    ) -> None:
        """``examined``: selects checkpoints."""
        self._examines = examined
        self._cuts = Cuts()
        self._received: dict[int, int] = {}
        """By channel the number of received elements so far."""
        self._events: dict[int, int] = {}
        """By channel the number of barriers and cancellations sent so far."""

    @reads(checkpoint_steps=("checkpoint", "step"), received=("channel", "position", "kind"))
    def _add_snapshots(self, facts: Slice) -> None:
        snapshots = [
            (seq, checkpoint)
            for seq, checkpoint, step in facts.of("checkpoint_steps").tuples(("seq", "checkpoint", "step"))
            if step == SYNC_START and self._examines(checkpoint)
        ]
        received, start = facts.of("received"), 0
        if len(received):
            ends = np.searchsorted(received.column("seq"), [seq for seq, _ in snapshots]).tolist()
        else:
            ends = [0] * len(snapshots)
        for end, (_, checkpoint) in zip(ends, snapshots, strict=True):
            self._add_received(received, start, end)
            start = end
            self._cuts.received[checkpoint] = dict(self._received)
        self._add_received(received, start, len(received))

    @reads(sent=("channel", "position", "kind", "timestamp"))
    def _add_sent(self, facts: Slice) -> None:
        rows = facts.of("sent")
        kinds = rows.column("kind")
        columns, events = ("channel", "position", "kind", "timestamp"), self._events
        for channel, position, kind, checkpoint in rows.tuples(columns, kinds >= ElementKind.CHECKPOINT_BARRIER):
            if kind in (ElementKind.CHECKPOINT_BARRIER, ElementKind.UNALIGNED_BARRIER) and self._examines(checkpoint):
                self._cuts.sent.setdefault((channel, checkpoint), position - events.get(channel, 0))
            if kind == ElementKind.UNALIGNED_BARRIER:
                self._cuts.overtaking.add((channel, checkpoint))
            else:
                events[channel] = events.get(channel, 0) + 1
        _add_counts(self._cuts.sent_in_all, rows.column("channel")[kinds < ElementKind.END_OF_PARTITION])

    def _add_received(self, rows: Rows, start: int, end: int) -> None:
        if end > start:
            is_data = (rows.column("kind")[start:end] < ElementKind.CHECKPOINT_BARRIER) & (
                rows.column("position")[start:end] >= 0
            )
            _add_counts(self._received, rows.column("channel")[start:end][is_data])

    def end(self, whole: bool) -> Cuts:
        return self._cuts


def _add_counts(counts: dict[int, int], channels: Ints) -> None:
    found, numbers = np.unique(channels, return_counts=True)
    for channel, number in zip(found.tolist(), numbers.tolist(), strict=True):
        counts[channel] = counts.get(channel, 0) + number
