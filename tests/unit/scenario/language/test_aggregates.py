"""Aggregates of a window: folded in place, nulls ignored, mergeable."""

from __future__ import annotations

import pytest

from flowsim.scenario.language.aggregates import compile_aggregates
from flowsim.scenario.language.expressions import ExpressionError
from flowsim.scenario.language.record_schema import FieldType, RecordSchema
from flowsim.scenario.language.value_bounds import ExpressionFailure

SCHEMA = RecordSchema(("origin", "delay", "ratio"), (FieldType.STRING, FieldType.INT, FieldType.DOUBLE))
ALL = {
    "rows": "count()",
    "known": "count(delay)",
    "total": "sum(delay)",
    "twice": "sum(delay * 2)",
    "least": "min(delay)",
    "most": "max(delay)",
    "mean": "avg(delay)",
    "one": "first(origin)",
    "end": "last(origin)",
    "late": "sum(1 if delay > 15 else 0)",
}
ROWS = [("EWR", 20, 0.5), ("JFK", 5, 0.5), ("LGA", 14, 0.5)]


def fold(columns: dict[str, str], rows: list[tuple[object, ...]]) -> object:
    function, _ = compile_aggregates(columns, SCHEMA)
    accumulator = function.create_accumulator()
    for row in rows:
        accumulator = function.add(row, accumulator)
    return function.get_result(accumulator)


def test_every_aggregate_of_sample_records() -> None:
    assert fold(ALL, list(ROWS)) == (3, 3, 39, 78, 5, 20, 13.0, "EWR", "LGA", 1)


def test_nulls_are_ignored_and_empty_aggregates_are_null() -> None:
    columns = {name: source for name, source in ALL.items() if name not in ("twice", "late")}
    rows: list[tuple[object, ...]] = [(None, None, 1.0), *ROWS, (None, None, 1.0)]
    assert fold(columns, rows) == (5, 3, 39, 5, 20, 13.0, "EWR", "LGA")
    assert fold(columns, []) == (0, 0, None, None, None, None, None, None)


def test_schema_of_aggregates_is_inferred() -> None:
    _, schema = compile_aggregates(ALL | {"r": "max(ratio)", "s": "sum(ratio)"}, SCHEMA)
    types = dict(zip(schema.names, (kind.value for kind in schema.types), strict=True))
    assert types == {
        "rows": "long", "known": "long", "total": "long", "twice": "long", "least": "int", "most": "int", "mean": "double",
        "one": "string", "end": "string", "late": "long", "r": "double", "s": "double",
    }  # fmt: skip


@pytest.mark.parametrize("split", range(4))
def test_merging_two_parts_equals_folding_the_whole(split: int) -> None:
    function, _ = compile_aggregates(ALL, SCHEMA)
    parts = [function.create_accumulator(), function.create_accumulator()]
    for index, row in enumerate(ROWS):
        function.add(row, parts[index >= split])
    assert function.get_result(function.merge(*parts)) == fold(ALL, list(ROWS))


def test_accumulators_share_no_state() -> None:
    function, _ = compile_aggregates({"rows": "count()"}, SCHEMA)
    first, second = function.create_accumulator(), function.create_accumulator()
    function.add(ROWS[0], first)
    assert (function.get_result(first), function.get_result(second)) == ((1,), (0,))


def test_sum_beyond_int64_fails_with_message() -> None:
    with pytest.raises(ExpressionFailure, match="an int64 has 64"):
        fold({"total": "sum(delay)"}, [("EWR", 2**62, 0.0), ("EWR", 2**62, 0.0)])


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("delay", "expected an aggregate such as sum(x), one of count, sum, min, max, avg, first, last"),
        ("sum(delay) + 1", "expected an aggregate such as sum(x), one of count, sum, min, max, avg, first, last"),
        ("smu(delay)", "unknown aggregate 'smu' (did you mean 'sum'?)"),
        ("sum()", "sum() takes one expression"),
        ("sum(delay, ratio)", "sum() takes one expression"),
        ("sum(x=delay)", "sum() takes one expression"),
        ("sum(dely)", "unknown name 'dely' (did you mean 'delay'?)"),
        ("sum(origin)", "sum() takes a number, got string"),
        ("max(timestamp)", "an aggregate cannot read the timestamp: add it as a field in an earlier map"),
        ("sum(abss(delay))", "unknown function 'abss' (did you mean 'abs'?)"),
        ("max(().__class__)", "attribute access ('.') is not part of the language"),
        ("a[0]", "expected an aggregate such as sum(x), one of count, sum, min, max, avg, first, last"),
        ("max(*value)", "'*' arguments are not part of the language"),
    ],
)
def test_invalid_aggregate_is_refused(source: str, words: str) -> None:
    with pytest.raises(ExpressionError) as refused:
        compile_aggregates({"rows": "count()", "bad": source}, SCHEMA)
    assert (refused.value.message, refused.value.column) == (words, "bad")
