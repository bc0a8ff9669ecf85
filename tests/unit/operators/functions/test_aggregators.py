"""Field selection of aggregations, and what they refuse. The results are compared with Flink's elsewhere."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from flowsim.errors import BadInput
from flowsim.operators.functions.aggregators import AggregationType, aggregator
from flowsim.operators.functions.grouped_reduce import GroupedReduceOperator
from flowsim.testing.harness import OneInputOperatorHarness
from flowsim.values.row import Row
from flowsim.values.types import Types

SUM, MIN, MIN_BY = AggregationType.SUM, AggregationType.MIN, AggregationType.MINBY
NAMED = Types.ROW_NAMED(["who", "much"], [Types.STRING(), Types.INT()])


def test_field_is_selected_by_position_or_name() -> None:
    assert aggregator(SUM, "f1", None)(("a", 1), ("a", 2)) == ("a", 3)
    assert aggregator(SUM, 1, None)(["a", 1], ["a", 2]) == ["a", 3]
    assert aggregator(SUM, "much", None)({"much": 1}, {"much": 2}) == {"much": 3}
    assert aggregator(SUM, "*", None)(1.5, 2.0) == 3.5
    assert aggregator(SUM, "much", NAMED)(Row("a", 1), Row("a", 2)) == Row("a", 3)
    total = aggregator(SUM, "much", None)(Row(who="a", much=1), Row(who="b", much=2))
    assert isinstance(total, Row)
    assert total.as_dict() == {"who": "a", "much": 3}


def test_sum_overflows_as_declared_type() -> None:
    assert aggregator(SUM, 0, Types.BYTE())(127, 1) == -128
    assert aggregator(SUM, 0, None)(2**63 - 1, 1) == -(2**63)
    assert aggregator(SUM, 0, Types.FLOAT())(3.4e38, 3.4e38) == float("inf")


def test_min_keeps_other_fields_and_min_by_takes_whole_record() -> None:
    first, other = ("a", 2, "first"), ("a", 1, "other")
    assert aggregator(MIN, 1, None)(first, other) == ("a", 1, "first")
    assert aggregator(MIN_BY, 1, None)(first, other) == other
    tie = ("a", 2, "tie")
    assert (aggregator(MIN_BY, 1, None)(first, tie), aggregator(MIN_BY, 1, None, first=False)(first, tie)) == (
        first,
        tie,
    )


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: aggregator(SUM, 2, Types.TUPLE([Types.INT()])), "has no field 2: expected 0 to 0"),
        (lambda: aggregator(SUM, "x", NAMED), "has no field 'x': expected one of who, much"),
        (lambda: aggregator(SUM, "who", NAMED), "sum: a field of type STRING cannot be added"),
        (lambda: aggregator(MIN, 1, Types.LONG()), "it has only itself, position 0 or '\\*'"),
        (lambda: aggregator(MIN, 0, Types.TUPLE([Types.LIST(Types.INT())])), "have no order"),
        (lambda: aggregator(MIN, 1.5, None), "expected the position or the name of a field"),  # type: ignore[arg-type]
        (lambda: aggregator(SUM, 0, None)("a", "b"), "'a' and 'b' cannot be added"),
        (lambda: aggregator(SUM, 0, None)(1, 1.0), "got int and float"),
        (lambda: aggregator(SUM, 0, None)(True, True), "cannot be added"),
        (lambda: aggregator(MIN, 0, None)(None, 1), "None and 1 cannot be compared"),
        (lambda: aggregator(MIN, "y", None)({"x": 1}, {"x": 2}), "no field 'y': expected one of x"),
    ],
)
def test_unknown_field_or_unsupported_type_is_refused(make: Callable[[], object], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        make()


def test_each_record_emits_reduction_of_its_key_with_its_timestamp() -> None:
    operator = GroupedReduceOperator(aggregator(SUM, 1, None))
    with OneInputOperatorHarness(operator, key_selector=lambda value: value[0]) as harness:  # type: ignore[index]
        harness.process_elements([(("a", 1), 10), (("b", 5), None), (("a", 2), 7)])
        assert harness.output == [("rec", ("a", 1), 10), ("rec", ("b", 5), None), ("rec", ("a", 3), 7)]
        assert harness.operator.records_in == 3
