"""Sizes of values, and what exceeds the limits of values, records and flat_map."""

from __future__ import annotations

import pytest

from flowsim.limits import Limits
from flowsim.scenario.language.expressions import compile_expression, compile_record
from flowsim.scenario.language.record_schema import FieldType, RecordSchema
from flowsim.scenario.language.value_bounds import ExpressionFailure, ValueBounds, size_of, text_bytes
from flowsim.values.row import Row

MUCH = 1 << 40
SMALL = Limits(value_bytes=400, record_bytes=1600, flat_map_rows=50, flat_map_bytes=8000)
SCHEMA = RecordSchema(("a", "b", "n"), (FieldType.STRING, FieldType.STRING, FieldType.LONG))


@pytest.mark.parametrize(
    ("value", "size"),
    [
        (7, 0),
        (None, 0),
        ("abc", 3),
        ("ab\u00e9", 12),
        (b"abc", 3),
        ((), 0),
        (("abc", 1, None), 27),
        ([["a"], ["a"]], 34),
        ({"k": [1]}, 25),
        (Row(x="abc"), 11),
    ],
)
def test_size_counts_items_and_characters(value: object, size: int) -> None:
    assert size_of(value, MUCH) == size


def test_size_of_shared_items_is_counted_no_further_than_asked() -> None:
    value: object = "x"
    for _ in range(60):
        value = (value, value)
    assert 1000 < size_of(value, 1000) < 4000


@pytest.mark.parametrize("value", [2**63, [-(2**63) - 1], ((2**70,),), {"k": 2**63}])
def test_integers_beyond_64_bits_are_refused(value: object) -> None:
    with pytest.raises(ExpressionFailure, match="an int64 has 64"):
        size_of(value, MUCH)


def test_values_nested_deeper_than_100_are_refused() -> None:
    value: object = ()
    for _ in range(100):
        value = (value,)
    assert size_of(value, MUCH) == 800
    with pytest.raises(ExpressionFailure, match="nested more than 100 deep"):
        size_of((value,), MUCH)


def test_text_that_is_not_ascii_counts_four_bytes_a_character() -> None:
    assert (text_bytes("abc"), text_bytes("ab\u00e9")) == (3, 12)


@pytest.mark.parametrize(
    "source",
    ["a + b", "a + a + b", "f'{a}{b}'", "concat(a, b)", "upper(a + b)", "[a, b]", "str([a, b])", "replace(a, 'x', b)",
     "split(a, 'x')", "strip(a + b)", "substring(a + b, 1)", "coalesce(None, a + b)", "a + b if n else a", "max((a, b))"],
)  # fmt: skip
def test_value_is_accepted_up_to_the_limit_of_the_caller(source: str) -> None:
    function = compile_expression(source, SCHEMA, limits=SMALL).function
    function(("x" * 5, "x" * 5, 1))
    with pytest.raises(ExpressionFailure, match=r"larger than 400 bytes \(--limit value_bytes=N raises the limit\)"):
        function(("x" * 300, "x" * 300, 1))
    compile_expression(source, SCHEMA).function(("x" * 300, "x" * 300, 1))


def test_record_of_many_texts_is_checked_while_it_is_built() -> None:
    columns = [(f"c{index}", "lower(a)") for index in range(40)]
    record = compile_record(columns, SCHEMA, keep=False, limits=SMALL)
    assert record.function(("x", "", 1)) == ("x",) * 40
    with pytest.raises(ExpressionFailure, match=r"record is larger than 1600 bytes \(--limit record_bytes=N"):
        record.function(("x" * 300, "", 1))
    kept = compile_record([("n", "n + 1"), *columns], SCHEMA, keep=True, limits=SMALL)
    assert kept.function(("x", "y", 1)) == ("x", "y", 2, *("x",) * 40)


def test_rows_of_a_flat_map_are_counted_and_measured() -> None:
    bounds = ValueBounds(SMALL)
    assert bounds.few_rows(1) == 20
    bounds.rows(("x" * 100,), [0] * 50)
    with pytest.raises(
        ExpressionFailure, match=r"gives 51 records for one, expected at most 50 \(--limit flat_map_rows=N"
    ):
        bounds.rows((), [0] * 51)
    with pytest.raises(ExpressionFailure, match=r"50 records .* larger than 8000 bytes \(--limit flat_map_bytes=N"):
        bounds.rows(("x" * 160,), [0] * 50)
    with pytest.raises(ExpressionFailure, match="record is larger than 1600 bytes"):
        bounds.rows(("x" * 1600,), [0])
