"""Which subtask owns a key. Flink: KeyGroupRangeAssignment."""

from __future__ import annotations

from flowsim.state.key_group_range_assignment import assign_to_key_group, compute_operator_index_for_key_group
from flowsim.values.types import TypeInformation


def assign_key_to_parallel_operator(
    key: object, max_parallelism: int, parallelism: int, key_type: str | TypeInformation | None = None
) -> int:
    """Subtask that owns a key (rule 1.18)."""
    key_group = assign_to_key_group(key, max_parallelism, key_type)
    return compute_operator_index_for_key_group(max_parallelism, parallelism, key_group)
