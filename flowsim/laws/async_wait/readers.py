"""Of law async-once: the readers of an async operator get exactly the results that it emits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from flowsim.laws.async_wait.places import NEVER, Place, Steps, after, broken_rows
from flowsim.laws.job_graph import JobGraph
from flowsim.laws.law import Findings
from flowsim.laws.slices import Ints, Mask

Channels = tuple[str, tuple[int, ...]]
"""The name of a reader, and the channels on which it gets results, ascending."""


def readers_by_operator(graph: JobGraph) -> Mapping[tuple[int, int], Sequence[Channels]]:
    """Who reads the main output of each (task, operator) over channels; use with ``JobGraph.once``.

    A reader is an edge; of a broadcast, which sends each record on all channels, it is a channel.
    """
    found: dict[tuple[int, int], dict[str, list[int]]] = {}
    for channel in sorted(graph.channels.values()):
        edge = graph.edges.get(channel.edge)
        if edge is not None and not edge.side_output:
            name = f"channel {channel.channel}" if edge.partitioner == "BROADCAST" else f"edge {edge.edge}"
            readers = found.setdefault((channel.source_task, edge.source_operator), {})
            readers.setdefault(name, []).append(channel.channel)
    return {place: [(name, tuple(channels)) for name, channels in readers.items()] for place, readers in found.items()}


def on_channels(column: Ints, channels: tuple[int, ...]) -> Mask:
    """Which rows are on these channels."""
    first, last = channels[0], channels[-1]
    if first == last:
        return np.asarray(column == first)
    if last - first + 1 == len(channels):
        return np.asarray((column >= first) & (column <= last))
    return np.isin(column, channels)


class Reader:
    """Compares the records that one reader gets between two emissions with the results of the second one."""

    __slots__ = ("_count", "_first", "_found", "_mixed", "_name", "_place")

    def __init__(self, name: str, place: Place, found: Findings) -> None:
        self._name = name
        self._place = place
        self._found = found
        self._count = 0
        """Records since the last emission, ..."""
        self._mixed = 0
        """... the exclusive or of their fingerprints ..."""
        self._first = NEVER
        """... and the sequence number of the first of them."""

    def feed(self, steps: Steps | None, seqs: Ints, fingerprints: Ints) -> None:
        """``seqs`` and ``fingerprints``: of the records that the reader gets in this slice."""
        if steps is not None and steps.emits.any():
            emitted = steps.seq[steps.emits]
            before = np.searchsorted(seqs, emitted)
            mixed = np.bitwise_xor.accumulate(np.concatenate(([self._mixed], fingerprints)))[before]
            self._compare(steps, before - after(-self._count, before), mixed ^ after(0, mixed))
            self._count, self._mixed, self._first = 0, 0, NEVER
            seqs, fingerprints = seqs[before[-1] :], fingerprints[before[-1] :]
        if len(seqs):
            self._count += len(seqs)
            self._mixed ^= int(np.bitwise_xor.reduce(fingerprints))
            self._first = min(self._first, int(seqs[0]))

    def _compare(self, steps: Steps, counts: Ints, mixed: Ints) -> None:
        expected, sums = steps.column("rows")[steps.emits], steps.column("fingerprint")[steps.emits]
        broken = (counts != expected) | (mixed != sums)
        for place in broken_rows(self._found, broken):
            row = int(np.flatnonzero(steps.emits)[place])
            where = steps.where(self._place, row)
            self._found.broken(
                "a reader gets other records than the results emitted", (self._place.task, int(steps.seq[row])),
                **where, reader=self._name, rows=int(counts[place]), expected_rows=int(expected[place]),
                fingerprint=int(mixed[place]), expected_fingerprint=int(sums[place]),
            )  # fmt: skip

    def end(self) -> None:
        """Where the input has not ended, the results of the next emission are under way."""
        if self._count and self._place.end != NEVER:
            self._found.broken(
                "a reader gets records after the last emission", (self._place.task, self._first),
                task=self._place.task, operator=self._place.number, seq=self._first, reader=self._name,
                rows=self._count, expected_rows=0,
            )  # fmt: skip
