"""Which subtasks restart after a failure. Flink: RestartPipelinedRegionFailoverStrategy (rule 12.28)."""

from __future__ import annotations

from typing import Protocol

from flowsim.checkpoints.failover.pipelined_region_compute_util import compute_pipelined_regions
from flowsim.checkpoints.failover.scheduling_topology import ResultPartition, SchedulingTopology


class ResultPartitionAvailabilityChecker(Protocol):
    """Knows which partitions still exist.

    A Protocol, because this package does not know the job master. Flink: ResultPartitionAvailabilityChecker.
    """

    def is_available(self, partition: ResultPartition) -> bool: ...


class ExecutionStates(Protocol):
    """Knows which subtasks were deployed.

    A Protocol, because this package does not know the job master.
    """

    def is_created(self, subtask: int) -> bool:
        """True if the subtask waits for its deployment: state CREATED."""
        ...


class RestartPipelinedRegionFailoverStrategy:
    """Restarts regions: of the failed subtask, of lost partitions that they need, and of all consumers.

    Flink: RestartPipelinedRegionFailoverStrategy.
    """

    __slots__ = ("_availability", "_region_of", "_regions", "_states", "_topology")

    def __init__(
        self,
        topology: SchedulingTopology,
        availability: ResultPartitionAvailabilityChecker,
        states: ExecutionStates,
    ) -> None:
        self._topology = topology
        self._availability = availability
        self._states = states
        self._regions = compute_pipelined_regions(topology)
        self._region_of = {subtask: number for number, region in enumerate(self._regions) for subtask in region}

    def get_tasks_needing_restart(self, failed_subtask: int, lost_partition: ResultPartition | None) -> list[int]:
        """Returns the subtasks to restart, in topological order.

        ``lost_partition``: the one that the failed subtask could not read, if the cause of the failure names it.
        """
        first = self._region_of[failed_subtask]
        queue = [first]
        restarted = {first}
        for region in queue:
            for involved in self._involved_regions(region, lost_partition):
                if involved not in restarted:
                    restarted.add(involved)
                    queue.append(involved)
        return sorted(
            subtask for region in restarted for subtask in self._regions[region] if not self._states.is_created(subtask)
        )

    def _involved_regions(self, region: int, lost_partition: ResultPartition | None) -> dict[int, None]:
        """Returns the regions that restart because this one does."""
        involved: dict[int, None] = {}
        for subtask in self._regions[region]:
            for partition in self._topology.consumed[subtask]:
                # Its data is gone, so the region of its producer runs again (rule 12.28).
                if not self._is_available(partition, lost_partition):
                    involved[self._region_of[partition.producer]] = None
            for partition in self._topology.produced[subtask]:
                # What the region emits again may differ from what its consumers have read (rule 12.28).
                for consumer in partition.consumers:
                    involved[self._region_of[consumer]] = None
        return involved

    def _is_available(self, partition: ResultPartition, lost_partition: ResultPartition | None) -> bool:
        return (
            partition.is_reconsumable and partition is not lost_partition and self._availability.is_available(partition)
        )
