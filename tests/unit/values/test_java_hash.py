"""Java hashes by declared type; the numbers are those of the real classes (golden data have many more)."""

from __future__ import annotations

import math
import pickle

import pytest

from flowsim.errors import ValueNotAllowed
from flowsim.laws.java_key import recorded_key_hash
from flowsim.values.encoding import decode_value, encode_value
from flowsim.values.java_hash_code import java_hash, key_hash
from flowsim.values.keys import key_json
from flowsim.values.row import Row
from flowsim.values.types import TypeInformation, Types

INT, STRING = Types.INT(), Types.STRING()
UNTYPED = "PICKLED_KEY<PICKLED_BYTE_ARRAY>"


def test_undeclared_int_hashes_as_long_and_declared_int_as_declared() -> None:
    assert java_hash(-1) == java_hash(-1, Types.LONG()) == 0
    assert java_hash(-1, INT) == java_hash(-1, "SHORT") == java_hash(-1, "BYTE") == -1
    assert java_hash(2**40) == 256


def test_floats_hash_by_bits_with_one_nan() -> None:
    assert java_hash(1.5) == 1073217536
    assert java_hash(math.nan) == java_hash(-math.nan) == 2146959360
    assert (java_hash(0.0), java_hash(-0.0)) == (0, -(2**31))
    assert java_hash(1.5, Types.FLOAT()) == 1069547520
    assert java_hash(math.nan, Types.FLOAT()) == 2143289344
    assert java_hash(-math.inf, Types.FLOAT()) == -8388608


def test_text_hashes_over_utf16_units() -> None:
    assert java_hash("") == 0
    assert java_hash("😀") == 0xD83D * 31 + 0xDE00
    assert java_hash("a", Types.CHAR()) == 97


def test_tuple_hash_starts_at_zero_and_list_hash_at_one() -> None:
    assert java_hash(()) == 0
    assert java_hash(("a",)) == 97
    assert java_hash(("a", None)) == 3007
    assert java_hash(("a", 1), Types.TUPLE([STRING, INT])) == 3008
    assert java_hash([1, "z"]) == 1114
    assert java_hash([]) == 1


def test_map_hash_is_sum_of_entries() -> None:
    assert java_hash({"k": 3}) == 104
    assert java_hash({"q": 5, "k": 3}, Types.MAP(STRING, INT)) == 220
    assert java_hash({"k": [Row("a"), None]}) == 5993


def test_bytes_hash_as_signed_bytes() -> None:
    assert java_hash(b"\0\0\0") == 29791
    assert java_hash(b"\xff", Types.PRIMITIVE_ARRAY(Types.BYTE())) == 30


@pytest.mark.parametrize(
    ("row", "hash_code"),
    [
        (Row(), 1),
        (Row("a", 1), 4961),
        (Row(x="a", y=1), 4961),
        (Row(None, "b", [1, 2]), 35776),
        (Row({"k": 3}), 200),
        (Row({"k": 3, "q": 5}), 380),
        (Row([{"k": 3, "q": 5, None: None}]), 411),
        (Row([1, "z"]), 2137),
        (Row(Row("a")), 221),
        (Row(b"\0\0\0"), 29853),
        (Row(("a", 1)), 3070),
        (Row(True), 1293),
        (Row([Row("a"), None]), 6882),
        (Row({"k": [Row("a"), None]}), 6761),
    ],
    ids=repr,
)
def test_row_hashes_its_contents_deeply(row: Row, hash_code: int) -> None:
    assert java_hash(row) == hash_code


def test_declared_types_apply_inside_containers() -> None:
    assert java_hash((-1,), Types.TUPLE([INT])) == -1
    assert java_hash([-1], Types.LIST(INT)) == java_hash([-1], Types.PRIMITIVE_ARRAY(INT)) == 30
    assert java_hash(Row(-1), Types.ROW([INT])) == 31 + 30
    assert java_hash(Row([-1]), Types.ROW([Types.LIST(INT)])) == 31 + 31 + 30
    assert java_hash(Row([-1]), Types.ROW([Types.PRIMITIVE_ARRAY(INT)])) == 31 + 31 + 30
    assert java_hash(Row({-1: -1}), Types.ROW([Types.MAP(INT, INT)])) == 31 + 1
    assert java_hash((-1,), Types.TUPLE([Types.PICKLED_BYTE_ARRAY()])) == 0


@pytest.mark.parametrize(
    ("value", "declared"),
    [
        (2**31, INT),
        (-129, Types.BYTE()),
        (32768, Types.SHORT()),
        (2**63, Types.LONG()),
        (True, INT),
        (1, Types.BOOLEAN()),
        (1, Types.DOUBLE()),
        (0.1, Types.FLOAT()),
        (1e300, Types.FLOAT()),
        (1, STRING),
        ("ab", Types.CHAR()),
        ("😀", Types.CHAR()),
        ((1, 2), Types.TUPLE([INT])),
        ([1], Types.TUPLE([INT])),
        (Row(1), Types.ROW([])),
        (b"a", Types.PRIMITIVE_ARRAY(INT)),
        ((1,), Types.LIST(INT)),
    ],
)
def test_value_not_fitting_declared_type_is_refused(value: object, declared: TypeInformation) -> None:
    with pytest.raises(ValueNotAllowed, match="does not fit its declared type"):
        java_hash(value, declared)


def test_value_without_java_hash_is_refused() -> None:
    for value in (memoryview(b"x"), (each for each in ())):
        with pytest.raises(ValueNotAllowed, match="is not a record value"):
            java_hash(value)


def test_none_hashes_as_zero_but_is_refused_as_key() -> None:
    assert java_hash(None) == java_hash(None, INT) == 0
    with pytest.raises(ValueNotAllowed, match="a key is None"):
        key_hash(None)


def test_none_is_a_key_of_a_program_for_pyflink() -> None:
    assert key_hash(None, "ROW_KEY<STRING>") == java_hash(Row(None)) == recorded_key_hash("ROW_KEY<STRING>", "null")
    pickled = java_hash(Row(pickle.dumps(None, 5)))
    assert key_hash(None, UNTYPED) == pickled == recorded_key_hash(UNTYPED, "null")


def test_key_of_a_program_for_pyflink_hashes_as_a_row_with_the_key_or_its_pickle() -> None:
    assert java_hash(5, "ROW_KEY<INT>") == 31 + 31 + 5
    assert java_hash("a", "ROW_KEY<STRING>") == java_hash(Row("a"))
    assert java_hash("a", UNTYPED) == java_hash(Row(pickle.dumps("a", 5)))
    assert java_hash(1, UNTYPED) != java_hash(1.0, UNTYPED) != java_hash(True, UNTYPED)


@pytest.mark.parametrize(
    "key",
    ["", "a", "text", 5, 2.5, math.nan, True, b"ab", ("a", "a"), ("ab", "ab"), (1, (2.0, b"")), (None, 1), Row(1, 2)],
)
def test_pickled_key_has_the_same_hash_after_a_channel_and_for_the_laws(key: object) -> None:
    code = java_hash(key, UNTYPED)
    assert java_hash(decode_value(encode_value(key)), UNTYPED) == code
    name, text = key_json(key, UNTYPED)
    assert name.startswith("PICKLED_KEY<")
    assert recorded_key_hash(name, text) == code
