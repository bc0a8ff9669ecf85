"""Hashes, key groups and the subtasks that own them, beside KeyGroupRangeAssignment, KeyGroupRange and MathUtils (1.18-1.22)."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from flowsim.state.key_group_range import KeyGroupRange
from flowsim.state.key_group_range_assignment import (
    assign_to_key_group,
    compute_default_max_parallelism,
    compute_key_group_range_for_operator_index,
    compute_operator_index_for_key_group,
    murmur_hash,
)
from flowsim.values.java_hash_code import java_hash
from tests.support.flink.key_groups import assign_key_to_parallel_operator
from tests.support.flink.keys import Key, hashed
from tests.support.flink.machine import Differential

SCRAMBLED_TO_THE_EDGES = [-2_089_875_627, 1_814_469_223, 994_512_208, -1_035_494_534]
"""Hashes whose scrambled form is, before its sign is taken off, the least int, the one after it, the greatest, and 0."""

max_parallelisms = st.one_of(st.integers(1, 300), st.sampled_from([1 << 7, 1 << 10, 32_768, 32_767]))


def test_hash_key_group_and_subtask_of_keys_equal_flinks(differential: Differential) -> None:
    real = differential.flink.java.flowsim.differential.Keys

    @differential.settings(60)
    @given(st.lists(hashed, min_size=8, max_size=24), max_parallelisms, st.data())
    def compare(some: list[Key], max_parallelism: int, data: st.DataObject) -> None:
        parallelism = data.draw(st.integers(1, max_parallelism))
        theirs = json.loads(real.assign(json.dumps([code for _, _, code in some]), max_parallelism, parallelism))
        with differential.comparing("KeyGroupRangeAssignment", commands=len(some)):
            for (key, declared, _), answer in zip(some, theirs, strict=True):
                assert [
                    java_hash(key, declared),
                    assign_to_key_group(key, max_parallelism, declared),
                    assign_key_to_parallel_operator(key, max_parallelism, parallelism, declared),
                ] == answer, (key, declared.name)

    compare()


def test_scrambled_hashes_equal_flinks(differential: Differential) -> None:
    real = differential.flink.java.flowsim.differential.Keys

    @differential.settings(20)
    @given(st.lists(st.integers(-(2**31), 2**31 - 1), min_size=20, max_size=60), max_parallelisms)
    def compare(some: list[int], max_parallelism: int) -> None:
        hashes = [*some, *SCRAMBLED_TO_THE_EDGES]
        theirs = json.loads(real.scramble(json.dumps(hashes), max_parallelism))
        with differential.comparing("MathUtils.murmurHash", commands=len(hashes)):
            assert [[murmur_hash(h), murmur_hash(h) % max_parallelism] for h in hashes] == theirs

    compare()


def test_owners_of_key_groups_equal_flinks(differential: Differential) -> None:
    real = differential.flink.java.flowsim.differential.Keys

    @differential.settings(30)
    @given(st.integers(1, 300), st.data())
    def compare(max_parallelism: int, data: st.DataObject) -> None:
        parallelism = data.draw(st.integers(1, max_parallelism))
        ranges, owners, derived = json.loads(real.ranges(max_parallelism, parallelism))
        with differential.comparing("KeyGroupRange", commands=parallelism + max_parallelism + 1):
            subtasks = range(parallelism)
            mine = [compute_key_group_range_for_operator_index(max_parallelism, parallelism, i) for i in subtasks]
            assert [[r.start, r.end, r.size] for r in mine] == ranges
            groups = range(max_parallelism)
            assert [compute_operator_index_for_key_group(max_parallelism, parallelism, g) for g in groups] == owners
            assert compute_default_max_parallelism(parallelism) == derived
        one = mine[data.draw(st.integers(0, parallelism - 1))]
        inside = json.loads(real.contains(one.start, one.end, max_parallelism))
        with differential.comparing("KeyGroupRange", commands=max_parallelism + 1):
            assert [KeyGroupRange(one.start, one.end).contains(g) for g in range(-1, max_parallelism)] == inside

    compare()
