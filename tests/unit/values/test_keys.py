"""Equality of keys, and their names in recordings."""

from __future__ import annotations

import json
import math

import pytest

from flowsim.errors import ValueNotAllowed
from flowsim.values.java_key_bytes import sort_key
from flowsim.values.keys import check_map_key, key_fingerprint, key_json, key_of_state_key, state_key
from flowsim.values.row import Row
from flowsim.values.types import Types

DIFFERENT = [
    None, 1, 1.0, True, 0, 0.0, -0.0, False, math.nan, math.inf, "1", "", b"", b"1", (), (1,), (1.0,), (True,), (0.0,),
    (-0.0,), (math.nan,), ((1,),), ("a", 1), ("a", True), Row(), Row(1), Row(1.0), (Row(1),), "nan", (1, "NaN"),
    [], [1], [1.0], [[1]], ([1],), [(1,)], Row([1]),
]  # fmt: skip


def test_keys_equal_in_python_but_not_in_java_are_distinguished() -> None:
    assert len({state_key(key): key for key in DIFFERENT}) == len(DIFFERENT)
    assert len({key_fingerprint(key) for key in DIFFERENT}) == len(DIFFERENT)


def test_every_nan_is_the_same_key() -> None:
    other = float("-nan")
    assert state_key(math.nan) == state_key(other)
    assert state_key((1, math.nan)) == state_key((1, other))
    assert key_fingerprint((1, math.nan)) == key_fingerprint((1, other))
    for declared in (None, Types.FLOAT(), Types.DOUBLE()):
        assert sort_key(math.nan, declared) == sort_key(other, declared)


def test_strings_ints_and_their_tuples_are_unchanged_as_state_key() -> None:
    for key in ("a", 7, ("a", 7), ()):
        assert state_key(key) is key


@pytest.mark.parametrize("key", [{"a": 1}, ("a", ({},)), [{}], Row({}), {1}, bytearray(b"x")])
def test_mutable_value_is_refused_as_key(key: object) -> None:
    with pytest.raises(ValueNotAllowed, match="cannot be a key, since its content can change"):
        state_key(key)


@pytest.mark.parametrize("key", [[], [1, [math.inf]], ("a", [1]), Row([True])])
def test_list_is_the_key_of_its_items(key: object) -> None:
    assert repr(key_of_state_key(state_key(key))) == repr(key)
    with pytest.raises(ValueNotAllowed, match="a list cannot be a key of a map"):
        check_map_key(key)
    assert state_key([math.nan]) == state_key([float("-nan")])
    assert key_fingerprint([math.nan]) == key_fingerprint([float("-nan")])


def test_invalid_value_is_refused_as_key() -> None:
    with pytest.raises(ValueNotAllowed, match="is not a record value"):
        state_key(memoryview(b"x"))


def test_declared_type_is_part_of_fingerprint() -> None:
    assert key_fingerprint(1) == key_fingerprint(1, Types.LONG()) == key_fingerprint(1, "LONG")
    assert key_fingerprint(1, "INT") != key_fingerprint(1, "LONG")
    assert key_fingerprint(("a", 1)) == key_fingerprint(("a", 1), "TUPLE<STRING,LONG>")


@pytest.mark.parametrize(
    ("key", "type_name", "text"),
    [
        ('ä"b', "STRING", '"ä\\"b"'),
        (7, "LONG", "7"),
        (True, "BOOLEAN", "true"),
        (1.5, "DOUBLE", "1.5"),
        (-0.0, "DOUBLE", "-0.0"),
        (math.nan, "DOUBLE", '"NaN"'),
        (-math.inf, "DOUBLE", '"-Infinity"'),
        (b"\x00\xff", "PRIMITIVE_ARRAY<BYTE>", '"00ff"'),
        (("a", (1, None)), "TUPLE<STRING,TUPLE<LONG,PICKLED_BYTE_ARRAY>>", '["a",[1,null]]'),
        (Row(a=1, b="x"), "ROW<a:LONG,b:STRING>", '[1,"x"]'),
    ],
)
def test_key_is_recorded_as_type_and_json(key: object, type_name: str, text: str) -> None:
    assert key_json(key) == (type_name, text)
    json.loads(text)


def test_declared_key_type_is_recorded_as_declared() -> None:
    assert key_json(7, "INT") == ("INT", "7")
    assert key_json(7, Types.PICKLED_BYTE_ARRAY()) == ("LONG", "7")
