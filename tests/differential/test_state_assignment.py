"""State that is distributed to other subtasks, beside RoundRobinOperatorStateRepartitioner and StateAssignmentOperation
(rules 12.23-12.25, 12.106, 12.107).
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowsim.state.key_group_range import KeyGroupRange
from flowsim.state.redistribution.operator_state import KeyGroupsStateHandle, OperatorState, OperatorSubtaskState
from flowsim.state.redistribution.operator_state_handle import DistributionMode, OperatorStateHandle, StateMetaInfo
from flowsim.state.redistribution.operator_state_repartitioner import RoundRobinOperatorStateRepartitioner
from flowsim.state.redistribution.state_assignment_operation import assign_state, create_key_group_partitions
from tests.support.flink.machine import Differential

names = st.one_of(
    st.sampled_from(["Aa", "BB", "AaAa", "BBBB", "AaBB", "BBAa", "splits"]), st.text("abcxyz-1", min_size=1)
)
modes = st.dictionaries(
    names, st.sampled_from(["SPLIT_DISTRIBUTE"] * 3 + ["UNION", "BROADCAST"]), min_size=1, max_size=20
)


@st.composite
def old_states(draw: st.DrawFn) -> list[list[tuple[str, dict[str, list[Any]]]]]:
    """Per old subtask its streams: none where the subtask had finished, seldom two; not each has every state."""
    mode_of = draw(modes)
    old = []
    for subtask in range(draw(st.integers(1, 6))):
        streams = []
        for number in range(draw(st.sampled_from([0, 1, 1, 1, 1, 2]))):
            states: dict[str, list[Any]] = {}
            for name, mode in mode_of.items():
                if draw(st.sampled_from([True] * 9 + [False])):
                    count = 1 if mode == "BROADCAST" else draw(st.integers(0, 8))
                    states[name] = [mode, [1000 * subtask + 100 * number + index for index in range(count)]]
            if states:
                streams.append((f"h{subtask}.{number}", states))
        old.append(streams)
    return old


def handles(streams: list[tuple[str, dict[str, list[Any]]]]) -> list[OperatorStateHandle]:
    return [
        OperatorStateHandle(
            stream,
            {name: StateMetaInfo(tuple(offsets), DistributionMode(mode)) for name, (mode, offsets) in named.items()},
        )
        for stream, named in streams
    ]


def test_distribution_of_operator_state_equals_flinks(differential: Differential) -> None:
    real = differential.flink.java.org.apache.flink.runtime.checkpoint.StateAssignments

    @differential.settings(80)
    @given(old_states(), st.integers(1, 7), st.booleans())
    def compare(old: list[list[tuple[str, dict[str, list[Any]]]]], parallelism: int, is_unchanged: bool) -> None:
        new_parallelism = len(old) if is_unchanged else parallelism
        theirs = json.loads(real.repartition(json.dumps(old), new_parallelism))
        new = RoundRobinOperatorStateRepartitioner().repartition_state(
            [handles(streams) for streams in old], len(old), new_parallelism
        )
        with differential.comparing("RoundRobinOperatorStateRepartitioner", commands=sum(map(len, theirs)) or 1):
            assert [
                {
                    each.stream: {name: [info.mode.value, list(info.offsets)] for name, info in each.states.items()}
                    for each in subtask
                }
                for subtask in new
            ] == theirs

    compare()


def test_assignment_of_keyed_state_equals_flinks(differential: Differential) -> None:
    real = differential.flink.java.org.apache.flink.runtime.checkpoint.StateAssignments

    @differential.settings(60)
    @given(st.sampled_from([1, 3, 7, 16, 100, 128, 1000, 32_768]), st.integers(1, 12), st.integers(1, 12), st.data())
    def compare(max_parallelism: int, old_parallelism: int, new_parallelism: int, data: st.DataObject) -> None:
        old_parallelism, new_parallelism = min(old_parallelism, max_parallelism), min(new_parallelism, max_parallelism)
        old = []
        for subtask, groups in enumerate(create_key_group_partitions(max_parallelism, old_parallelism)):
            cuts = data.draw(st.sampled_from(["none", "one", "one", "one", "two"]))
            parts = [] if cuts == "none" else [(groups.start, groups.end)]
            if cuts == "two" and groups.size > 1:
                middle = data.draw(st.integers(groups.start, groups.end - 1))
                parts = [(groups.start, middle), (middle + 1, groups.end)]
            old.append([(f"k{subtask}.{number}", *part) for number, part in enumerate(parts)])
        theirs = json.loads(real.assign(json.dumps(old), max_parallelism, new_parallelism))
        states = {
            subtask: OperatorSubtaskState(
                managed_keyed=tuple(
                    KeyGroupsStateHandle(name, KeyGroupRange(first, last)) for name, first, last in parts
                )
            )
            for subtask, parts in enumerate(old)
        }
        new = assign_state(OperatorState("counts", old_parallelism, max_parallelism, states), new_parallelism)
        with differential.comparing("StateAssignmentOperation", commands=new_parallelism):
            assert [
                [[each.stream, each.key_groups.start, each.key_groups.end] for each in state.managed_keyed]
                for state in new
            ] == theirs

    compare()


@pytest.mark.parametrize(
    "names",
    [
        ["Aa", "AaAa", "x", "11111", "11-", "BB", "AaBB", "1", "1a", "111", "1111", "11111a", "111111"],
        ["Aa", *(chr(97 + 16 * number) for number in range(8)), "b", "c"],
    ],
    ids=["full table", "eight names in a bin"],
)
def test_names_of_many_states_are_in_flinks_order(differential: Differential, names: list[str]) -> None:
    real = differential.flink.java.org.apache.flink.runtime.checkpoint.StateAssignments
    for subtasks in (1, 3):
        old = [[(f"h{each}", {name: ["SPLIT_DISTRIBUTE", [each]] for name in names})] for each in range(subtasks)]
        theirs = json.loads(real.repartition(json.dumps(old), 2))
        new = RoundRobinOperatorStateRepartitioner().repartition_state([handles(each) for each in old], subtasks, 2)
        with differential.comparing("RoundRobinOperatorStateRepartitioner", commands=2):
            assert [{each.stream: set(each.states) for each in subtask} for subtask in new] == [
                {stream: set(states) for stream, states in subtask.items()} for subtask in theirs
            ]
