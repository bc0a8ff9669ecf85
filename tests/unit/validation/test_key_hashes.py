"""The judge derives Java hash codes and key groups as the real Flink did (rules 1.18, 1.19, 1.23)."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from flowsim.validation.checks.key_hashes import java_hash, murmur, parse_type

GOLDEN = Path(__file__).parents[2] / "golden" / "data" / "component" / "key_groups.jsonl.gz"


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
        ("LONG", '"text"', None),
        ("TUPLE<STRING>", '["a","b"]', None),
        ("MAP<INT,INT>", "[]", None),
        ("STRING>", '"a"', None),
    ],
)
def test_a_key_hashes_as_in_java(key_type: str, text: str, expected: int | None) -> None:
    assert java_hash(key_type, text) == expected


def test_type_names_are_parsed_to_any_depth() -> None:
    assert parse_type("TUPLE<ROW<a:INT>,LONG>") == ("TUPLE", [("ROW", [("INT", [])]), ("LONG", [])])


def test_murmur_agrees_with_flink_on_known_vectors() -> None:
    hashes = np.array([0, 1, -1, 42, 97, -(2**31), 2**31 - 1])
    expected = [593689054, 68075478, 1982413648, 1134849565, 1455541201, 1718298732, 1653689534]
    assert murmur(hashes).tolist() == expected


@pytest.mark.golden
def test_keys_belong_to_the_subtasks_that_flink_chose() -> None:
    names = {"String": "STRING", "Long": "LONG", "Integer": "INT", "Boolean": "BOOLEAN", "Double": "DOUBLE"}
    judged = 0
    with gzip.open(GOLDEN, "rt", encoding="utf-8") as lines:
        for case in map(json.loads, lines):
            if case["kind"] != "key" or case["type"] not in names:
                continue
            found = java_hash(names[case["type"]], json.dumps(case["key"]))
            assert found == case["hash"], case
            group = int(murmur(np.array([found]))[0]) % case["max_parallelism"]
            assert group == case["key_group"], case
            if "subtask" in case:
                assert group * case["parallelism"] // case["max_parallelism"] == case["subtask"], case
            judged += 1
    assert judged > 100
