"""Texts of records: JSON of every kind of value, independent of the batch."""

from __future__ import annotations

import json
import math
from itertools import accumulate

import pytest

from flowsim.values.encoding import encode_record
from flowsim.values.record_text import Texts, record_texts
from flowsim.values.row import Row

TEXTS: list[tuple[object, str]] = [
    (7, "7"),
    (None, "null"),
    (True, "true"),
    (-0.0, "-0.0"),
    (math.nan, '"NaN"'),
    (-math.inf, '"-Infinity"'),
    ('a\n"null" ö', '"a\\n\\"null\\" ö"'),
    (b"\x00\xff", '"00ff"'),
    (("a", 1, 2.5, None, False), '["a",1,2.5,null,false]'),
    (("a", math.inf), '["a","Infinity"]'),
    ((), "[]"),
    ([1, [2]], "[1,[2]]"),
    ((("a", 1), [b"\x01"]), '[["a",1],["01"]]'),
    (Row(1, "x"), '[1,"x"]'),
    (Row(name="ada", of=(1, None)), '{"name":"ada","of":[1,null]}'),
    ({"a": 1}, '{"a":1}'),
    ({1: "a", (2,): None}, '[[1,"a"],[[2],null]]'),
    (2**63 - 1, "9223372036854775807"),
]


def texts_of(encoded: list[bytes]) -> Texts:
    return record_texts(b"".join(encoded), [0, *accumulate(map(len, encoded))])


@pytest.mark.parametrize(("value", "text"), TEXTS)
def test_value_is_json(value: object, text: str) -> None:
    assert texts_of([encode_record(5, value)]) == ([5], f"{text}\n".encode())
    json.loads(text)


def test_records_of_a_batch_are_independent() -> None:
    flat = [(value, text) for value, text in TEXTS if type(value) in (int, str, tuple) and "[[" not in text]
    for chosen in (flat, TEXTS, flat * 500, TEXTS * 100):
        encoded = [encode_record(None if place % 2 else place, value) for place, (value, _) in enumerate(chosen)]
        timestamps, lines = texts_of(encoded)
        assert lines == "".join(f"{text}\n" for _, text in chosen).encode()
        assert timestamps == [None if place % 2 else place for place in range(len(chosen))]


def test_empty_batch_has_no_texts() -> None:
    assert texts_of([]) == ([], b"")


def test_absent_values_and_not_a_number_differ_in_text() -> None:
    values = [None, (None, 1.0), (None, float("nan")), "null", ("null", None), float("nan")]
    encoded = [encode_record(None, value) for value in values]
    texts = [b"null", b"[null,1.0]", b'[null,"NaN"]', b'"null"', b'["null",null]', b'"NaN"']
    assert texts_of(encoded)[1].splitlines() == texts
