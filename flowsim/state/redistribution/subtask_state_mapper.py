"""Which old subtasks' buffers a new subtask gets. Flink: SubtaskStateMapper (rule 12.98)."""

from __future__ import annotations

from enum import Enum
from typing import assert_never

from flowsim.errors import BadInput
from flowsim.state.key_group_range_assignment import (
    UPPER_BOUND_MAX_PARALLELISM,
    compute_key_group_range_for_operator_index,
    compute_operator_index_for_key_group,
)
from flowsim.state.redistribution.rescale_mappings import RescaleMappings


class SubtaskStateMapper(Enum):
    """How a partitioner redistributes stored buffers (rules 12.97, 12.98). Flink: SubtaskStateMapper."""

    ARBITRARY = "ARBITRARY"
    """The records may go to any subtask; the same as ROUND_ROBIN."""
    FIRST = "FIRST"
    """The first new subtask gets all buffers."""
    FULL = "FULL"
    """Every new subtask gets all buffers, and filters them."""
    RANGE = "RANGE"
    """A new subtask gets the buffers of those that own some of its key groups, and filters them."""
    ROUND_ROBIN = "ROUND_ROBIN"
    UNSUPPORTED = "UNSUPPORTED"
    """Buffers cannot be redistributed."""

    @property
    def is_ambiguous(self) -> bool:
        """Returns True if several new subtasks may get the buffers of one old subtask."""
        return self in (SubtaskStateMapper.FULL, SubtaskStateMapper.RANGE)

    def old_subtasks(self, new_subtask: int, old_parallelism: int, new_parallelism: int) -> tuple[int, ...]:
        """Returns the old subtasks whose buffers ``new_subtask`` gets. Raises BadInput for UNSUPPORTED."""
        match self:
            case SubtaskStateMapper.ARBITRARY | SubtaskStateMapper.ROUND_ROBIN:
                return tuple(range(new_subtask, old_parallelism, new_parallelism))
            case SubtaskStateMapper.FIRST:
                return tuple(range(old_parallelism)) if new_subtask == 0 else ()
            case SubtaskStateMapper.FULL:
                return tuple(range(old_parallelism))
            case SubtaskStateMapper.RANGE:
                # An over-approximation for a smaller max parallelism.
                largest = UPPER_BOUND_MAX_PARALLELISM
                groups = compute_key_group_range_for_operator_index(largest, new_parallelism, new_subtask)
                first = compute_operator_index_for_key_group(largest, old_parallelism, groups.start)
                last = compute_operator_index_for_key_group(largest, old_parallelism, groups.end)
                return tuple(range(first, last + 1))
            case SubtaskStateMapper.UNSUPPORTED:
                raise BadInput(
                    "Cannot rescale the given pointwise partitioner.\nDid you change the partitioner to forward or "
                    "rescale?\nIt may also help to add an explicit shuffle()."
                )
            case _:
                assert_never(self)

    def new_to_old_subtasks_mapping(self, old_parallelism: int, new_parallelism: int) -> RescaleMappings:
        """Returns the old subtasks of each new subtask."""
        return RescaleMappings(
            tuple(self.old_subtasks(subtask, old_parallelism, new_parallelism) for subtask in range(new_parallelism)),
            old_parallelism,
        )
