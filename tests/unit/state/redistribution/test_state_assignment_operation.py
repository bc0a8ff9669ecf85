"""Which state a restored job accepts, and what each subtask gets (rules 12.23-12.26)."""

from __future__ import annotations

import pytest

from flowsim.errors import BadInput, InvariantViolation
from flowsim.state.key_group_range import KeyGroupRange
from flowsim.state.redistribution.operator_state import KeyGroupsStateHandle, OperatorState, OperatorSubtaskState
from flowsim.state.redistribution.operator_state_handle import DistributionMode, OperatorStateHandle, StateMetaInfo
from flowsim.state.redistribution.operator_state_repartitioner import RoundRobinOperatorStateRepartitioner
from flowsim.state.redistribution.state_assignment_operation import (
    RestoredVertex,
    assign_state,
    check_state_mapping_completeness,
    restored_max_parallelism,
)

STATE = OperatorState("counts", 2, 128)


def vertex(parallelism: int, max_parallelism: int, *, derived: bool) -> RestoredVertex:
    return RestoredVertex("count -> sink", parallelism, max_parallelism, derived)


def test_state_of_an_unknown_operator_is_refused_unless_allowed() -> None:
    with pytest.raises(BadInput, match="There is no operator for the state counts"):
        check_state_mapping_completeness([STATE], ["map"], allow_non_restored_state=False)
    check_state_mapping_completeness([STATE], ["map"], allow_non_restored_state=True)
    check_state_mapping_completeness([STATE], ["map", "counts"], allow_non_restored_state=False)


def test_restored_max_parallelism_replaces_a_derived_one() -> None:
    assert restored_max_parallelism(STATE, vertex(4, 256, derived=True)) == 128


def test_restored_max_parallelism_must_equal_one_that_was_set() -> None:
    assert restored_max_parallelism(STATE, vertex(4, 128, derived=False)) == 128
    with pytest.raises(BadInput, match=r"\(128\) .* count -> sink .* \(256\) changed"):
        restored_max_parallelism(STATE, vertex(4, 256, derived=False))


def test_parallelism_above_the_restored_max_parallelism_is_refused() -> None:
    with pytest.raises(BadInput, match=r"maximum parallelism \(128\).*lower than the configured parallelism \(129\)"):
        restored_max_parallelism(STATE, vertex(129, 256, derived=True))


def test_all_kinds_of_state_are_assigned() -> None:
    """List state is cut, raw keyed state intersected; a subtask that had finished contributes nothing (rule 12.119)."""
    handle = OperatorStateHandle("s0", {"splits": StateMetaInfo((0, 7, 9), DistributionMode.SPLIT_DISTRIBUTE)})
    timers = KeyGroupsStateHandle("t0", KeyGroupRange(0, 3))
    old = OperatorState("op", 2, 8, {0: OperatorSubtaskState((handle,), (handle,), (timers,), (timers,))})
    first, second, third = assign_state(old, 3)
    assert [[each.states["splits"].offsets for each in state.managed_operator] for state in (first, second, third)] == [
        [(0,)],
        [(7,)],
        [(9,)],
    ]
    assert first.raw_operator == first.managed_operator
    assert [[each.key_groups for each in state.raw_keyed] for state in (first, second, third)] == [
        [KeyGroupRange(0, 2)],
        [KeyGroupRange(3, 3)],
        [],
    ]
    assert first.raw_keyed == first.managed_keyed


def test_unchanged_parallelism_keeps_lists_and_unites_union_state() -> None:
    def handle(stream: str) -> OperatorStateHandle:
        return OperatorStateHandle(
            stream,
            {
                "splits": StateMetaInfo((0, 1), DistributionMode.SPLIT_DISTRIBUTE),
                "all": StateMetaInfo((2,), DistributionMode.UNION),
            },
        )

    old = {0: OperatorSubtaskState((handle("s0"),)), 1: OperatorSubtaskState((handle("s1"),))}
    first, second = assign_state(OperatorState("op", 2, 8, old), 2)
    assert [(each.stream, list(each.states)) for each in first.managed_operator] == [
        ("s0", ["splits", "all"]),
        ("s1", ["all"]),
    ]
    assert [(each.stream, list(each.states)) for each in second.managed_operator] == [
        ("s1", ["splits", "all"]),
        ("s0", ["all"]),
    ]


@pytest.mark.parametrize(("old", "new"), [(1, 0), (2, 1)])
def test_repartitioner_refuses_wrong_parallelism(old: int, new: int) -> None:
    with pytest.raises(InvariantViolation):
        RoundRobinOperatorStateRepartitioner().repartition_state([[]], old, new)
