"""Subtasks, and the channels of an edge, which are computed.

Flink: ExecutionVertex, EdgeManagerBuildUtil (rules 1.14-1.17).
"""

from __future__ import annotations

from dataclasses import dataclass

from flowsim.graph.job_graph import JobEdge, JobVertex
from flowsim.network.writers.partitioner import POINTWISE
from flowsim.state.key_group_range import KeyGroupRange
from flowsim.state.key_group_range_assignment import compute_key_group_range_for_operator_index


@dataclass(frozen=True, slots=True)
class Subtask:
    """One parallel instance of a vertex. Flink: ExecutionVertex. ``id`` counts over the whole job."""

    id: int
    vertex: JobVertex
    index: int

    @property
    def name(self) -> str:
        """The name in Flink's form: ``map -> sink (2/3)``."""
        return f"{self.vertex.name} ({self.index + 1}/{self.vertex.parallelism})"

    @property
    def key_group_range(self) -> KeyGroupRange:
        vertex = self.vertex
        return compute_key_group_range_for_operator_index(vertex.max_parallelism, vertex.parallelism, self.index)


@dataclass(frozen=True, slots=True)
class EdgeExpansion:
    """The channels of one edge; all numbers are computed, and nothing is stored per channel.

    Subtask ``s`` of the source has ``subpartitions(s)`` subpartitions; channel ids count over sources, then
    subpartitions.
    """

    edge: JobEdge
    first_channel: int

    @property
    def is_pointwise(self) -> bool:
        return self.edge.partitioner.name in POINTWISE

    @property
    def _sources(self) -> int:
        return self.edge.source.parallelism

    @property
    def _targets(self) -> int:
        return self.edge.target.parallelism

    def _group(self, source: int) -> range:
        """Returns the targets that read partition ``source`` of a pointwise edge (rule 1.16)."""
        sources, targets = self._sources, self._targets
        if sources >= targets:
            target = ((source + 1) * targets - 1) // sources
            return range(target, target + 1)
        return range(self._channels_before(source), self._channels_before(source + 1))

    def subpartitions(self, source: int) -> int:
        return len(self._group(source)) if self.is_pointwise else self._targets

    def first_channel_of(self, source: int) -> int:
        """Returns the channel id of subpartition 0 of subtask ``source``."""
        if not self.is_pointwise:
            return self.first_channel + source * self._targets
        return self.first_channel + self._channels_before(source)

    def _channels_before(self, source: int) -> int:
        """Of a pointwise edge: the subpartitions of the subtasks before ``source``."""
        sources, targets = self._sources, self._targets
        return source if sources >= targets else (source * targets + sources - 1) // sources

    def input_count(self, target: int) -> int:
        """Returns the number of channels that subtask ``target`` reads."""
        if not self.is_pointwise:
            return self._sources
        sources, targets = self._sources, self._targets
        return (target + 1) * sources // targets - target * sources // targets if sources >= targets else 1

    def input_at(self, target: int, index: int) -> tuple[int, int]:
        """Returns the source subtask, and its subpartition, of channel ``index`` of subtask ``target``."""
        if not self.is_pointwise:
            return index, target
        sources, targets = self._sources, self._targets
        if sources >= targets:
            return target * sources // targets + index, 0
        source = target * sources // targets
        return source, target % len(self._group(source))  # rule 1.17: rotated inside the group

    def input_index(self, target: int, source: int) -> int:
        """Returns the index of the channel by which subtask ``target`` reads subtask ``source``."""
        if not self.is_pointwise:
            return source
        return source - target * self._sources // self._targets if self._sources >= self._targets else 0

    def target_of(self, source: int, subpartition: int) -> int:
        """Returns the subtask that reads a subpartition."""
        if not self.is_pointwise:
            return subpartition
        group = self._group(source)
        if self._sources >= self._targets:
            return group[0]
        return group[0] + (subpartition - group[0]) % len(group)

    @property
    def channel_count(self) -> int:
        if not self.is_pointwise:
            return self._sources * self._targets
        return max(self._sources, self._targets)
