"""Subtasks that must run at the same time, and the dependencies between these regions.

Flink: SchedulingPipelinedRegionComputeUtil, SchedulingPipelinedRegion (rules 5.43, 12.27).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flowsim.errors import BadInput

if TYPE_CHECKING:
    from flowsim.graph.edge_expansion import EdgeExpansion, Subtask


@dataclass(frozen=True, slots=True)
class PipelinedRegion:
    """Subtasks connected by pipelined edges. Flink: SchedulingPipelinedRegion.

    ``waits_for``: subtasks of other regions whose blocking partitions the region reads. The region starts when all of
    these subtasks have finished.
    """

    subtasks: Sequence[int]
    waits_for: frozenset[int]


def pipelined_regions(expansions: Sequence[EdgeExpansion], subtasks: Sequence[Subtask]) -> list[PipelinedRegion]:
    """Returns the regions in the order of their first subtasks.

    Raises BadInput for a blocking edge whose ends must run at the same time, directly or through other regions: the
    reader would have to start before the writer has finished. Flink: SchedulingPipelinedRegionComputeUtil.
    """
    if all(expansion.edge.exchange.is_pipelined for expansion in expansions):
        return [PipelinedRegion(range(len(subtasks)), frozenset())]
    union = _Union(len(subtasks))
    first = {subtask.vertex.id: subtask.id for subtask in reversed(subtasks)}
    for expansion in expansions:
        if expansion.edge.exchange.is_pipelined:
            for producers, consumer in _reads(expansion, first):
                for producer in producers:
                    union.join(producer, consumer)
    members: dict[int, list[int]] = {}
    for subtask in subtasks:
        members.setdefault(union.find(subtask.id), []).append(subtask.id)
    waits: dict[int, dict[int, None]] = {root: {} for root in members}
    for expansion in expansions:
        if expansion.edge.exchange.is_pipelined:
            continue
        for producers, consumer in _reads(expansion, first):
            for producer in producers:
                if union.find(producer) == union.find(consumer):
                    raise _inside(expansion)
                waits[union.find(consumer)][producer] = None
    _check_order(waits, union, expansions)
    return [PipelinedRegion(vertices, frozenset(waits[root])) for root, vertices in members.items()]


def _reads(expansion: EdgeExpansion, first: dict[int, int]) -> Iterable[tuple[Iterable[int], int]]:
    """Yields (producers, consumer) pairs that connect the edge; for an all-to-all edge as few as possible."""
    source, target = first[expansion.edge.source.id], first[expansion.edge.target.id]
    for consumer in range(expansion.edge.target.parallelism):
        if expansion.is_pointwise:
            producers: Iterable[int] = [
                source + expansion.input_at(consumer, index)[0] for index in range(expansion.input_count(consumer))
            ]
        elif consumer == 0 or not expansion.edge.exchange.is_pipelined:
            producers = range(source, source + expansion.edge.source.parallelism)
        else:
            producers = (source,)
        yield producers, target + consumer


def _check_order(waits: dict[int, dict[int, None]], union: _Union, expansions: Sequence[EdgeExpansion]) -> None:
    """Raises BadInput unless the regions can run one after another."""
    before = {root: {union.find(producer) for producer in producers} for root, producers in waits.items()}
    done: set[int] = set()
    while len(done) < len(before):
        ready = [root for root, needed in before.items() if root not in done and needed <= done]
        if not ready:
            raise _inside(next(expansion for expansion in expansions if not expansion.edge.exchange.is_pipelined))
        done.update(ready)


def _inside(expansion: EdgeExpansion) -> BadInput:
    edge = expansion.edge
    return BadInput(
        f"the blocking exchange from {edge.source.name} to {edge.target.name} can never be read: the reader starts when "
        "the writer has finished, but pipelined edges make both run at the same time; make those blocking too"
    )


class _Union:
    """Disjoint sets; the smallest member of a set represents the set."""

    def __init__(self, size: int) -> None:
        self._parent = list(range(size))

    def find(self, member: int) -> int:
        while self._parent[member] != member:
            self._parent[member] = self._parent[self._parent[member]]
            member = self._parent[member]
        return member

    def join(self, one: int, other: int) -> None:
        first, second = sorted((self.find(one), self.find(other)))
        self._parent[second] = first
