"""The laws compute Java hash codes and owners of keys as the real Flink (rules 1.18, 1.19, 1.23)."""

from __future__ import annotations

import json

import pytest

from flowsim.laws.java_key import owner_subtask, recorded_key_hash
from tests.support.flink.golden import cases

ALL = 2**31
"""So many key groups and subtasks that the owner of a key is the number that its hash code is scattered to."""


@pytest.mark.parametrize(
    ("key_type", "text", "expected"),
    [
        ("STRING", '""', 0),
        ("STRING", '"EWR"', 69088),
        ("STRING", '"\U0001f600"', 1772899),
        ("LONG", "-1", 0),
        ("LONG", "1099511627776", 256),
        ("INT", "-1", -1),
        ("BOOLEAN", "true", 1231),
        ("DOUBLE", "1.5", 1073217536),
        ("DOUBLE", '"NaN"', 2146959360),
        ("FLOAT", '"Infinity"', 2139095040),
        ("TUPLE<STRING,LONG>", '["a",7]', 3014),
        ('ROW<name:STRING,"odd , name":TUPLE<INT,INT>>', '["a",[1,2]]', 31 * (31 + 31 + 97) + 31 + 33),
        ("TUPLE<>", "[]", 0),
        ("PRIMITIVE_ARRAY<BYTE>", '"01ff"', 31 * (31 + 1) - 1),
        ("LIST<LONG>", "[1,2]", 31 * (31 + 1) + 2),
        ("LIST<PICKLED_BYTE_ARRAY>", '[1,"a"]', 31 * (31 + 1) + 97),
        ("ROW_KEY<LIST<INT>>", "[1,2]", 31 + 31 * (31 + 32) + 33),
        ("LONG", '"text"', None),
        ("TUPLE<STRING>", '["a","b"]', None),
        ("MAP<INT,INT>", "[]", None),
        ("STRING>", '"a"', None),
    ],
)
def test_recorded_key_hash_equals_javas(key_type: str, text: str, expected: int | None) -> None:
    assert recorded_key_hash(key_type, text) == expected


def test_owner_subtask_scrambles_hash_as_flink() -> None:
    hashes = [0, 1, -1, 42, 97, -(2**31), 2**31 - 1]
    expected = [593689054, 68075478, 1982413648, 1134849565, 1455541201, 1718298732, 1653689534]
    assert [owner_subtask(key_hash, ALL, ALL) for key_hash in hashes] == expected


@pytest.mark.golden
def test_owners_of_keys_equal_flinks() -> None:
    names = {"String": "STRING", "Long": "LONG", "Integer": "INT", "Boolean": "BOOLEAN", "Double": "DOUBLE"}
    judged = 0
    for case in cases("component/key_groups"):
        if case["kind"] != "key" or case["type"] not in names:
            continue
        found = recorded_key_hash(names[case["type"]], json.dumps(case["key"]))
        assert found == case["hash"], case
        groups = case["max_parallelism"]
        assert owner_subtask(found, groups, groups) == case["key_group"], case
        if "subtask" in case:
            assert owner_subtask(found, case["parallelism"], groups) == case["subtask"], case
        judged += 1
    assert judged > 100
