"""RoundRobinOperatorStateRepartitioner equals the real one, element by element (rules 12.24, 12.25, 12.107)."""

from __future__ import annotations

from typing import Any

from flowsim.state.redistribution.operator_state_handle import DistributionMode, OperatorStateHandle, StateMetaInfo
from flowsim.state.redistribution.operator_state_repartitioner import (
    RoundRobinOperatorStateRepartitioner,
    collect_states,
)
from tests.support.flink.golden import cases


def handle(recorded: dict[str, Any]) -> OperatorStateHandle:
    return OperatorStateHandle(
        recorded["h"],
        {
            name: StateMetaInfo(tuple(offsets), DistributionMode(mode))
            for name, (mode, offsets) in recorded["states"].items()
        },
    )


def by_stream(handles: list[OperatorStateHandle]) -> dict[str, dict[str, list[Any]]]:
    return {
        each.stream: {name: [info.mode.value, list(info.offsets)] for name, info in each.states.items()}
        for each in handles
    }


def test_distribution_of_every_case_equals_flinks() -> None:
    """All cases: elements per new subtask and stream, and the order of the names that decides the remainders."""
    repartitioned = 0
    for case in cases("component/operator_state_repartition"):
        old = [[handle(each) for each in handles] for handles in case["old"]]
        names = list(collect_states(old, DistributionMode.SPLIT_DISTRIBUTE))
        assert names == case["split_names_in_map_order"], case["id"]
        new = RoundRobinOperatorStateRepartitioner().repartition_state(
            old, case["old_parallelism"], case["new_parallelism"]
        )
        assert case["err"] is None
        assert [by_stream(handles) for handles in new] == case["out"], case["id"]
        repartitioned += 1
    assert repartitioned == 400
