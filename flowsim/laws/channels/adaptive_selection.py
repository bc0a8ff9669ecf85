"""The part of law distribution that examines adaptive writers (rules 2.3, 2.4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

from flowsim.facts.kinds import ElementKind, PoolKind, SegmentAction
from flowsim.laws.findings import Findings
from flowsim.laws.job_graph import Edge, JobGraph
from flowsim.laws.machine import Machine, on_row

_USED: Final = {int(SegmentAction.HANDED_OUT): 1, int(SegmentAction.RECYCLED): -1}
_COMPARED: Final = int(SegmentAction.COMPARED)


class AdaptiveWriter:
    """Repeats the selection of one writer from the segments of its pool."""

    def __init__(self, edge: Edge, width: int, max_traverse_size: int) -> None:
        self.edge = edge
        self._width = width
        self._most = min(max_traverse_size, width)
        self._last = -1
        self._used: Counter[int] = Counter()
        self._compared: list[tuple[int, int, int]] = []
        """Subpartition, used segments and bytes in the queue, of each comparison since the last record."""
        self._is_full = False
        """Whether the recording has segments, and so comparisons."""

    def on_segment(self, action: int, subpartition: int, step: int) -> None:
        self._is_full = True
        if action == _COMPARED:
            self._compared.append((subpartition, self._used[subpartition], step))
        else:
            self._used[subpartition] += _USED.get(action, 0)

    def on_record(self, place: int) -> tuple[str, int]:
        """Returns what is wrong with a record at ``place``, or '', and the place that is expected."""
        compared, self._compared = self._compared, []
        last, self._last = self._last, place
        following = [(last + step) % self._width for step in range(1, self._most + 1)]
        if not self._is_full:
            wrong = "" if place in following else "a channel that the writer does not compare"
            return wrong, place if place in following else following[0]
        idle = next((number for number, (_, used, _) in enumerate(compared, 1) if used == 0), self._most)
        if [subpartition for subpartition, _, _ in compared] != following[:idle]:
            return "other channels were compared than the next ones", following[0]
        idlest = compared[-1][0] if compared[-1][1] == 0 else min(compared, key=lambda each: each[1:])[0]
        return "" if place == idlest else "the channel is not the idlest of those compared", idlest


class AdaptiveWriters(Machine):
    """The adaptive writers of one task."""

    def __init__(self, task: int, graph: JobGraph, found: Findings) -> None:
        self._task = task
        self._found = found
        self.of_edge: dict[int, AdaptiveWriter] = {}
        self._of_channel: dict[int, tuple[AdaptiveWriter, int]] = {}
        self._edge_of_pool = {
            pool.pool: pool.edge for pool in graph.pools.values() if pool.task == task and pool.kind == PoolKind.OUTPUT
        }

    def add(self, edge: Edge, width: int, max_traverse_size: int, places: Mapping[int, int]) -> None:
        """Adds the writer of an edge; ``places``: the place of each channel."""
        writer = self.of_edge[edge.edge] = AdaptiveWriter(edge, width, max_traverse_size)
        self._of_channel.update({channel: (writer, place) for channel, place in places.items()})

    @on_row("sent", kind=ElementKind.RECORD)
    def _on_record(self, seq: int, channel: int) -> None:
        if channel in self._of_channel:
            self._judge(seq, channel)

    @on_row("segments")
    def _on_segment(self, seq: int, pool: int, action: int, subpartition: int, step: int) -> None:
        writer = self.of_edge.get(self._edge_of_pool.get(pool, -1))
        if writer is not None:
            writer.on_segment(action, subpartition, step)

    def _judge(self, seq: int, channel: int) -> None:
        self._found.examined += 1
        writer, place = self._of_channel[channel]
        wrong, expected = writer.on_record(place)
        if wrong:
            self._found.broken(wrong, (self._task, seq), task=self._task, seq=seq, edge=writer.edge.edge,
                               partitioner=writer.edge.partitioner, channel=channel, expected=expected,
                               found=place)  # fmt: skip
