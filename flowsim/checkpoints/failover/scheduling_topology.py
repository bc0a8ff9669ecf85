"""The subtasks of a job and the result partitions between them. Flink: SchedulingTopology, SchedulingResultPartition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True, slots=True)
class ResultPartition:
    """What one subtask writes for one result of its vertex. Flink: SchedulingResultPartition."""

    producer: int
    """The subtask, counted over the whole job."""
    result: int
    """Which result of the vertex."""
    consumers: Sequence[int]
    """The subtasks that read the partition."""
    must_be_pipelined_consumed: bool
    """True if a consumer must run at the same time as the producer: PIPELINED and PIPELINED_BOUNDED (rule 12.27)."""
    is_reconsumable: bool
    """True if a finished partition can be read again: BLOCKING (rule 12.28)."""


@dataclass(frozen=True)
class SchedulingTopology:
    """The subtasks in topological order, numbered from 0, and their partitions. Flink: SchedulingTopology."""

    job_vertex_of: Sequence[int]
    """The job vertex of each subtask."""
    partitions: Sequence[ResultPartition]

    @cached_property
    def produced(self) -> list[list[ResultPartition]]:
        """The partitions that each subtask writes."""
        produced: list[list[ResultPartition]] = [[] for _ in self.job_vertex_of]
        for partition in self.partitions:
            produced[partition.producer].append(partition)
        return produced

    @cached_property
    def consumed(self) -> list[list[ResultPartition]]:
        """The partitions that each subtask reads."""
        consumed: list[list[ResultPartition]] = [[] for _ in self.job_vertex_of]
        for partition in self.partitions:
            for consumer in partition.consumers:
                consumed[consumer].append(partition)
        return consumed
