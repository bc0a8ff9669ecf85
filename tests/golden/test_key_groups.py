"""Java hashes, key groups and their ranges, compared with the answers of the real KeyGroupRangeAssignment (rules 1.18-1.23)."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from flowsim.state.key_group_range_assignment import (
    assign_to_key_group,
    compute_default_max_parallelism,
    compute_key_group_range_for_operator_index,
    compute_operator_index_for_key_group,
    murmur_hash,
)
from flowsim.values.java_hash_code import java_hash
from flowsim.values.types import TypeInformation, Types
from tests.support.flink.key_groups import assign_key_to_parallel_operator

PATH = Path(__file__).parent / "data" / "component" / "key_groups.jsonl.gz"
BOXED = {
    "String": Types.STRING(),
    "Integer": Types.INT(),
    "Long": Types.LONG(),
    "Double": Types.DOUBLE(),
    "Boolean": Types.BOOLEAN(),
}


def cases(*kinds: str) -> list[dict[str, Any]]:
    with gzip.open(PATH, "rt", encoding="utf-8") as lines:
        return [case for case in map(json.loads, lines) if case["kind"] in kinds]


def tuple_and_type(items: list[Any]) -> tuple[tuple[object, ...], TypeInformation]:
    """JSON arrays are tuples; the driver sent small ints, which Java took as Integer."""
    values: list[object] = []
    types: list[TypeInformation] = []
    for item in items:
        value, declared = (
            tuple_and_type(item)
            if isinstance(item, list)
            else (item, Types.STRING() if isinstance(item, str) else Types.INT())
        )
        values.append(value)
        types.append(declared)
    return tuple(values), Types.TUPLE(types)


def test_hash_key_group_and_subtask_of_keys_equal_flinks() -> None:
    seen = cases("key")
    assert len(seen) > 1000
    for case in seen:
        key, declared = case["key"], BOXED.get(case["type"])
        if declared is None:
            key, declared = tuple_and_type(key)
        assert java_hash(key, declared) == case["hash"], case
        assert assign_to_key_group(key, case["max_parallelism"], declared) == case["key_group"], case
        assert assign_to_key_group(key, case["max_parallelism"], declared.name) == case["key_group"], case
        if "subtask" in case:
            owner = assign_key_to_parallel_operator(key, case["max_parallelism"], case["parallelism"], declared)
            assert owner == case["subtask"], case


@pytest.mark.parametrize("boxed", ["String", "Long", "Double", "Boolean"])
def test_undeclared_type_follows_from_value(boxed: str) -> None:
    for case in cases("key"):
        if case["type"] == boxed:
            assert java_hash(case["key"]) == case["hash"], case


def test_key_groups_of_hashes_equal_flinks() -> None:
    for case in cases("hash"):
        assert murmur_hash(case["hash"]) % case["max_parallelism"] == case["key_group"], case


def test_default_max_parallelism_equals_flinks() -> None:
    for case in cases("default_max_parallelism"):
        assert compute_default_max_parallelism(case["parallelism"]) == case["max_parallelism"], case


def test_ranges_and_owners_of_key_groups_equal_flinks() -> None:
    for case in cases("ranges"):
        p, max_p = case["parallelism"], case["max_parallelism"]
        ranges = [compute_key_group_range_for_operator_index(max_p, p, i) for i in range(p)]
        assert [[r.start, r.end] for r in ranges] == case["ranges"], case
    for case in cases("operator_index"):
        owner = compute_operator_index_for_key_group(case["max_parallelism"], case["parallelism"], case["key_group"])
        assert owner == case["subtask"], case
