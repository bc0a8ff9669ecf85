"""Key groups: bounds and edge cases; golden data check the arithmetic (rules 1.18-1.23)."""

from __future__ import annotations

import pytest

from flowsim.errors import BadInput, ValueNotAllowed
from flowsim.network.writers.partitioner import KeyGroupStreamPartitioner
from flowsim.state.key_group_range import KeyGroupRange
from flowsim.state.key_group_range_assignment import (
    MOST_REMEMBERED,
    assign_to_key_group,
    compute_default_max_parallelism,
    compute_key_group_range_for_operator_index,
    murmur_hash,
)
from flowsim.values.java_hash_code import key_hash
from tests.support.flink.key_groups import assign_key_to_parallel_operator

INT_MIN, INT_MAX = -(2**31), 2**31 - 1


@pytest.mark.parametrize(
    ("code", "scrambled"),
    [(0, 593689054), (1, 68075478), (-1, 1982413648), (42, 1134849565), (97, 1455541201), (INT_MIN, 1718298732),
     (INT_MAX, 1653689534)],
)  # fmt: skip
def test_murmur_hash_equals_flinks(code: int, scrambled: int) -> None:
    assert murmur_hash(code) == scrambled


@pytest.mark.parametrize(
    ("key", "key_type", "key_group", "subtask"),
    [("a", None, 81, 2), ("b", None, 22, 0), ("key", None, 72, 2), ("user-1", None, 121, 3), (0, "INT", 94, 2),
     (1, "INT", 86, 2), (42, "INT", 29, 0), (7, None, 113, 3), (-1, None, 94, 2), (2**40, "LONG", 54, 1),
     (True, None, 77, 2), (1.5, None, 65, 2)],
)  # fmt: skip
def test_key_group_and_subtask_equal_flinks(key: object, key_type: str | None, key_group: int, subtask: int) -> None:
    assert assign_to_key_group(key, 128, key_type) == key_group
    assert assign_key_to_parallel_operator(key, 128, 4, key_type) == subtask


@pytest.mark.parametrize("key_type", [None, "LONG"])
@pytest.mark.parametrize("key", [0, -1, 7, 2**31, -(2**32), 2**61 - 1, 2**61, -(2**61), 2**63 - 1, -(2**63)])
def test_key_group_of_a_whole_number_is_that_of_its_java_hash(key: int, key_type: str | None) -> None:
    """Small numbers are hashed by a shorter way."""
    assert assign_to_key_group(key, 128, key_type) == murmur_hash(key_hash(key, key_type)) % 128


def test_partitioner_remembers_so_many_whole_numbers_and_all_other_keys() -> None:
    by_value = KeyGroupStreamPartitioner(4, lambda value: value, None, 128)
    assert [by_value.select_channel(key) for key in (7, "user-1", True)] == [3, 3, 2]
    assert list(by_value.routes) == [7, "user-1", (bool, True)]
    for key in range(MOST_REMEMBERED + 10):
        by_value.select_channel(key)
    by_value.select_channel("user-2")
    assert (len(by_value.routes), "user-2" in by_value.routes) == (MOST_REMEMBERED + 1, True)


def test_key_none_is_refused() -> None:
    with pytest.raises(ValueNotAllowed, match="a key is None"):
        assign_to_key_group(None, 128)


@pytest.mark.parametrize(
    ("max_parallelism", "parallelism", "index", "complaint"),
    [(128, 0, 0, "parallelism: expected an integer >= 1, got 0"), (3, 4, 0, "max parallelism 3 is smaller than"),
     (32769, 1, 0, "expected 1 to 32768, got 32769"), (128, 2, 2, "expected 0 to 1, got 2"),
     (128, 2, -1, "expected 0 to 1, got -1")],
)  # fmt: skip
def test_invalid_bounds_are_refused_with_expectation(
    max_parallelism: int, parallelism: int, index: int, complaint: str
) -> None:
    with pytest.raises(BadInput, match=complaint):
        compute_key_group_range_for_operator_index(max_parallelism, parallelism, index)


def test_default_max_parallelism_has_upper_limit() -> None:
    assert compute_default_max_parallelism(32768) == 32768
    with pytest.raises(BadInput, match="max parallelism 32768 is smaller than parallelism 32769"):
        compute_default_max_parallelism(32769)


def test_range_includes_both_ends() -> None:
    group_range = KeyGroupRange(3, 5)
    assert [g for g in range(10) if g in group_range] == [3, 4, 5]
    assert [g for g in range(10) if group_range.contains(g)] == [3, 4, 5]
    assert (group_range.size, len(group_range), len(KeyGroupRange(0, -1))) == (3, 3, 0)
