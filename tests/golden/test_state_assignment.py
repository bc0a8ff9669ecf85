"""Keyed state is assigned as StateAssignmentOperation does (rules 12.23, 12.106)."""

from __future__ import annotations

from flowsim.state.key_group_range import KeyGroupRange
from flowsim.state.redistribution.operator_state import KeyGroupsStateHandle, OperatorState, OperatorSubtaskState
from flowsim.state.redistribution.state_assignment_operation import assign_state, create_key_group_partitions
from tests.support.flink.golden import cases


def test_keyed_handles_of_every_case_equal_flinks() -> None:
    """All cases: subtasks without state, split handles, unchanged and changed parallelism."""
    assigned = 0
    for case in cases("component/state_assignment"):
        maximum, parallelism = case["max_parallelism"], case["new_parallelism"]
        ranges = create_key_group_partitions(maximum, parallelism)
        assert [[each.start, each.end] for each in ranges] == case["ranges"]
        states = {
            subtask: OperatorSubtaskState(
                managed_keyed=tuple(KeyGroupsStateHandle(name, KeyGroupRange(*groups)) for name, *groups in handles)
            )
            for subtask, handles in enumerate(case["old"])
            if handles
        }
        new = assign_state(OperatorState("counts", case["old_parallelism"], maximum, states), parallelism)
        handles = [
            [[each.stream, each.key_groups.start, each.key_groups.end] for each in state.managed_keyed] for state in new
        ]
        assert handles == case["out"], case["id"]
        assigned += 1
    assert assigned == 400
