"""What ``from_collection`` makes of values with a declared type, as PyFlink does."""

from __future__ import annotations

import pytest

from flowsim.datastream.building.collection_values import as_declared
from flowsim.datastream.common import Row, RowKind, Types
from flowsim.datastream.pyflink_way import pyflink_way
from flowsim.errors import BadInput
from flowsim.values.types import TypeInformation

PRICE = Types.ROW_NAMED(["fruit", "cents"], [Types.STRING(), Types.INT()])
TEXTS = Types.MAP(Types.STRING(), Types.STRING())
ATTRIBUTES = {"cents": 40, "fruit": "fig", "__class__": f"{__name__}.Price"}


class Price:
    def __init__(self, fruit: str, cents: int) -> None:
        self.cents, self.fruit = cents, fruit


@pytest.mark.parametrize(
    ("value", "declared", "expected"),
    [
        (Price("fig", 40), PRICE, Row(fruit="fig", cents=40)),
        ({"cents": 40, "fruit": "fig", "no": 1}, PRICE, Row(fruit="fig", cents=40)),
        ({"fruit": "fig"}, PRICE, Row(fruit="fig", cents=None)),
        (Row.of_kind(RowKind.DELETE, cents=40, fruit="fig"), PRICE, Row.of_kind(RowKind.DELETE, fruit="fig", cents=40)),
        (["fig", 40], PRICE, Row(fruit="fig", cents=40)),
        (Row("fig", 40), PRICE, Row(fruit="fig", cents=40)),
        ((7, Price("fig", 40)), Types.ROW([Types.INT(), PRICE]), Row(f0=7, f1=Row(fruit="fig", cents=40))),
        ((7, {"fruit": "fig"}), Types.TUPLE([Types.INT(), PRICE]), (7, Row(fruit="fig", cents=None))),
        (Price("fig", 40), Types.MAP(Types.STRING(), Types.INT()), ATTRIBUTES),
        (None, PRICE, None),
        (40, Types.STRING(), 40),
    ],
)  # fmt: skip
def test_fields_are_taken_by_name_or_position(value: object, declared: TypeInformation, expected: object) -> None:
    taken = as_declared(value, declared)
    assert (taken, type(taken)) == (expected, type(expected))
    if isinstance(expected, Row) and isinstance(taken, Row):
        assert taken.field_names == tuple(declared.get_field_names())


def test_text_in_a_program_for_pyflink_is_that_of_java() -> None:
    with pyflink_way():
        assert [as_declared(value, Types.STRING()) for value in (40, True, 1e7, "x", None)] == [
            "40",
            "true",
            "1.0E7",
            "x",
            None,
        ]
        assert as_declared({"a": 40}, TEXTS) == {"a": "40"}


@pytest.mark.parametrize("value", [("fig",), Row(1, 2, 3), Row(cents=40)])
def test_missing_field_is_refused(value: object) -> None:
    with pytest.raises(BadInput, match=r"^from_collection: expected .*ROW<fruit:STRING,cents:INT>, got "):
        as_declared(value, PRICE)
