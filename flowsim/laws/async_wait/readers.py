"""Part of law async-once: the readers of an async operator get exactly its emitted results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flowsim.laws.async_wait.places import NEVER, Check, Place, Step
from flowsim.laws.findings import Findings
from flowsim.laws.job_graph import JobGraph

Channels = tuple[str, tuple[int, ...]]
"""The name of a reader, and the channels with its results, ascending."""


def readers_by_operator(graph: JobGraph) -> Mapping[tuple[int, int], Sequence[Channels]]:
    """The readers of the main output of each (task, operator) over channels; use with ``JobGraph.once``.

    A reader is an edge; for a broadcast, which sends each record on all channels, it is a channel.
    """
    found: dict[tuple[int, int], dict[str, list[int]]] = {}
    for channel in sorted(graph.channels.values()):
        edge = graph.edges.get(channel.edge)
        if edge is not None and not edge.side_output:
            name = f"channel {channel.channel}" if edge.partitioner == "BROADCAST" else f"edge {edge.edge}"
            readers = found.setdefault((channel.source_task, edge.source_operator), {})
            readers.setdefault(name, []).append(channel.channel)
    return {place: [(name, tuple(channels)) for name, channels in readers.items()] for place, readers in found.items()}


class Reader(Check):
    """Compares the records that one reader gets between two emissions with the results of the second one."""

    __slots__ = ("_count", "_first", "_mixed", "_name")

    def __init__(self, name: str, place: Place, found: Findings) -> None:
        super().__init__(place, found)
        self._name = name
        self._count = 0
        """Records since the last emission, ..."""
        self._mixed = 0
        """... the exclusive or of their fingerprints ..."""
        self._first = NEVER
        """... and the sequence number of the first of them."""

    def get(self, seq: int, fingerprint: int) -> None:
        """The reader gets a record."""
        self._count += 1
        self._mixed ^= fingerprint
        self._first = min(self._first, seq)

    def emit(self, step: Step) -> None:
        """Any EMIT."""
        if (self._count, self._mixed) != (step.rows, step.fingerprint):
            self.broken(
                "a reader gets other records than the results emitted", step, reader=self._name, rows=self._count,
                expected_rows=step.rows, fingerprint=self._mixed, expected_fingerprint=step.fingerprint,
            )  # fmt: skip
        self._count, self._mixed, self._first = 0, 0, NEVER

    def end(self) -> None:
        """If the input has not ended, the results of the next emission may be in progress."""
        if self._count and self.place.end != NEVER:
            self.broken_at("a reader gets records after the last emission", self._first, reader=self._name,
                           rows=self._count, expected_rows=0)  # fmt: skip
