"""The record values, and the messages of refusals."""

from __future__ import annotations

import datetime
from collections import OrderedDict, defaultdict, namedtuple
from collections.abc import Callable
from enum import IntEnum
from fractions import Fraction
from itertools import count
from threading import Lock

import numpy as np
import pytest

from flowsim.errors import ValueNotAllowed
from flowsim.values.closed_set import MAX_DEPTH, check, checked_copy, copy_value
from flowsim.values.encoding import decode_value, encode_into, encode_value, fingerprint
from flowsim.values.row import Row

Point = namedtuple("Point", "x y")


class Colour(IntEnum):
    RED = 1


class Text(str):
    __slots__ = ()


class Unstable:
    """Its content differs each time pickle asks for it."""

    numbers = count()

    def __getstate__(self) -> object:
        return {"number": next(self.numbers)}


class Holder:
    def __init__(self, held: object) -> None:
        self.held = held


REFUSED = [
    lambda: 1,
    (number for number in ()),
    memoryview(b"x"),
    Lock(),
    Unstable(),
    Holder(memoryview(b"x")),
    {Holder(Lock())},
    "\ud800",
    {"\udfff": 1},
    Holder("\ud800"),
    Row.of([1], ["\ud800"]),
]
OBJECTS = [
    Colour.RED,
    Text("a"),
    Point(1, 2),
    OrderedDict(a=1),
    defaultdict(int, a=1),
    np.int64(1),
    np.float64(1.0),
    {1, 2},
    frozenset(["a"]),
    bytearray(b"x"),
    datetime.date(2024, 1, 1),
    1 + 2j,
    Fraction(1, 2),
    2**63,
    -(2**63) - 1,
    2**200,
    {frozenset(): 1},
    {Row(1): 1},
    {(1, Colour.RED): 1},
    {2**63: 1},
    Row(Colour.RED),
    Point([1], {2}),
]


def wrappings(value: object) -> list[object]:
    return [value, (value,), (1, "a", value, 2.5), [value], {"k": value}, Row(value), Row(f=value), ([{"k": [value]}],)]


@pytest.mark.parametrize("value", REFUSED, ids=lambda v: type(v).__name__)
def test_value_outside_closed_set_is_refused_anywhere(value: object) -> None:
    for wrapped in wrappings(value):
        buffer = bytearray(b"before")
        with pytest.raises(ValueNotAllowed, match="value"):
            encode_into(buffer, 1, wrapped)
        assert buffer == b"before"
        with pytest.raises(ValueNotAllowed, match="value"):
            encode_value(wrapped)
        with pytest.raises(ValueNotAllowed, match="value"):
            fingerprint(None, wrapped)
        if not isinstance(value, Unstable):
            with pytest.raises(ValueNotAllowed, match="value") as refused:
                check(wrapped)
            with pytest.raises(ValueNotAllowed) as refused_copy:
                checked_copy(wrapped)
            assert str(refused_copy.value) == str(refused.value)


@pytest.mark.parametrize("value", OBJECTS, ids=repr)
def test_object_anywhere_inside_is_copied_and_decoded_exactly(value: object) -> None:
    for wrapped in wrappings(value):
        check(wrapped)
        encoded = encode_value(wrapped)
        for same in (decode_value(encoded), checked_copy(wrapped), copy_value(wrapped)):
            assert same == wrapped
            assert type(same) is type(wrapped)
            assert encode_value(same) == encoded


@pytest.mark.parametrize("value", [(1, "a"), (1, [2]), [1], "a", 5, None], ids=repr)
@pytest.mark.parametrize(
    "timestamp",
    [2**64, 2**70, -(2**63) - 1, object(), "\ud800", 1j],
    ids=lambda t: "object" if type(t) is object else ascii(t),
)
def test_invalid_timestamp_is_refused_and_loses_no_record(timestamp: int, value: object) -> None:
    buffer = bytearray(b"before")
    with pytest.raises(ValueNotAllowed, match="timestamp: expected whole milliseconds of 64 bits or None, got"):
        encode_into(buffer, timestamp, value)
    assert buffer == b"before"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (([Holder(Lock())],), "value[0][0].held: _thread.lock is not a record value: cannot pickle '_thread.lock' object"),
        (lambda: 1, f"value: builtins.function is not a record value: no module has it as {__name__}.<lambda>"),
        ({Holder("\ud800"): 1}, "key of value.held: text with a lone surrogate cannot be encoded: '\\ud800'"),
        ("a\ud800", "value: text with a lone surrogate cannot be encoded: 'a\\ud800'"),
    ],
)  # fmt: skip
def test_refusal_names_place_and_reason(value: object, message: str) -> None:
    with pytest.raises(ValueNotAllowed) as refused:
        check(value)
    assert str(refused.value) == message


def nested(kind: str, depth: int) -> object:
    value: object = 1
    for _ in range(depth):
        value = {"tuple": (value,), "list": [value], "dict": {1: value}, "row": Row(value)}[kind]
    return value


@pytest.mark.parametrize("kind", ["tuple", "list", "dict", "row"])
def test_values_nest_at_most_one_hundred_deep(kind: str) -> None:
    deepest = nested(kind, MAX_DEPTH)
    check(deepest)
    assert decode_value(encode_value(deepest)) == deepest
    assert copy_value(deepest) == deepest
    assert checked_copy(deepest) == deepest
    for refuse in (check, checked_copy):
        with pytest.raises(ValueNotAllowed, match="nested more than 100 deep"):
            refuse(nested(kind, MAX_DEPTH + 1))


def test_value_containing_itself_is_refused() -> None:
    cyclic: list[object] = [1]
    cyclic.append(cyclic)
    with pytest.raises(ValueNotAllowed, match="contains itself"):
        check(cyclic)
    with pytest.raises(ValueNotAllowed, match="contains itself"):
        checked_copy(cyclic)
    knot: dict[str, object] = {}
    knot["k"] = (knot,)
    with pytest.raises(ValueNotAllowed, match="contains itself"):
        encode_value(knot)


def test_dict_keys_nest_no_deeper_than_values() -> None:
    with pytest.raises(ValueNotAllowed, match="nested more than 100 deep"):
        check({nested("tuple", MAX_DEPTH + 1): 1})


@pytest.mark.parametrize("limit", [2**63 - 1, -(2**63), 2**32, 2**31, -(2**31) - 1, 0xCF, 0xCFFFFFFF])
def test_int64_limits_are_accepted(limit: int) -> None:
    for wrapped in wrappings(limit):
        check(wrapped)
        assert decode_value(encode_value(wrapped)) == wrapped


def test_copy_of_immutable_value_is_same_object() -> None:
    for value in (None, 1, "a", (1, "a", None), ((1,), (2,)), ()):
        assert copy_value(value) is value
        assert checked_copy(value) is value


@pytest.mark.parametrize("copied", [copy_value, checked_copy])
def test_copy_is_independent_of_original(copied: Callable[[object], object]) -> None:
    inner: list[object] = [1]
    original = (inner, {"k": inner}, Row(f=inner), [inner])
    copy = copied(original)
    assert copy == original
    inner.append(2)
    assert copy == ([1], {"k": [1]}, Row(f=[1]), [[1]])
