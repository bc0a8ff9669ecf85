"""Which old subtasks and channels the restored in-flight data of a task comes from (rule 12.102).

Flink: InflightDataRescalingDescriptor.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from flowsim.state.redistribution.rescale_mappings import RescaleMappings


class MappingType(Enum):
    """Whether channels are the old ones.

    Flink: InflightDataRescalingDescriptor.InflightDataGateOrPartitionRescalingDescriptor.MappingType.
    """

    IDENTITY = "IDENTITY"
    RESCALING = "RESCALING"


@dataclass(frozen=True, slots=True)
class InflightDataGateOrPartitionRescalingDescriptor:
    """The sources of one gate or one partition.

    Flink: InflightDataRescalingDescriptor.InflightDataGateOrPartitionRescalingDescriptor.
    """

    old_subtask_indexes: tuple[int, ...]
    """The old subtasks of this task."""
    rescale_mappings: RescaleMappings
    """The old channels of each new one."""
    ambiguous_subtask_indexes: frozenset[int]
    """The old subtasks that are mapped to several new ones, so that their records are filtered (rule 12.104)."""
    mapping_type: MappingType

    @property
    def is_identity(self) -> bool:
        return self.mapping_type is MappingType.IDENTITY


NO_STATE: Final = InflightDataGateOrPartitionRescalingDescriptor(
    (), RescaleMappings((), 0), frozenset(), MappingType.IDENTITY
)
"""The descriptor of a gate or partition without in-flight data."""


@dataclass(frozen=True, slots=True)
class InflightDataRescalingDescriptor:
    """The sources of all gates, or of all partitions, of a task. Flink: InflightDataRescalingDescriptor."""

    gate_or_partition_descriptors: tuple[InflightDataGateOrPartitionRescalingDescriptor, ...] = ()
    """Empty: all channels are the old ones."""

    @property
    def is_rescaled(self) -> bool:
        """False: all channels are the old ones."""
        return bool(self.gate_or_partition_descriptors)


NO_RESCALE: Final = InflightDataRescalingDescriptor()
"""The descriptor of a task whose channels are the old ones. Flink: InflightDataRescalingDescriptor.NO_RESCALE."""
