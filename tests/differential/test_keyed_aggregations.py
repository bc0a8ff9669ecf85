"""Sums, minima and maxima of fields of every type, beside the real SumAggregator and ComparableAggregator."""

from __future__ import annotations

import json
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowsim.errors import BadInput
from flowsim.operators.functions.aggregators import AggregationType, aggregator
from flowsim.values.row import Row
from flowsim.values.types import Types, parse_type
from tests.support.flink.machine import Differential

BITS = {"BYTE": 8, "SHORT": 16, "INT": 32, "LONG": 64}


def whole(bits: int) -> st.SearchStrategy[int]:
    limit = 1 << bits - 1
    return st.integers(-3, 3) | st.sampled_from([limit - 1, -limit]) | st.integers(-limit, limit - 1)


OF_TYPE: dict[str, st.SearchStrategy[Any]] = {
    **{name: whole(bits) for name, bits in BITS.items()},
    "FLOAT": st.sampled_from([0.0, -0.0, 1.5, float("nan"), float("-inf")]) | st.floats(width=32),
    "DOUBLE": st.sampled_from([0.0, -0.0, 1.5, float("nan"), float("inf")]) | st.floats(),
    "STRING": st.sampled_from(["", "a", "b", "\U0001f600", "\uffee"]) | st.text(max_size=3),
    "BOOLEAN": st.booleans(),
}
names = st.sampled_from(sorted(OF_TYPE))


def node(name: str, value: Any) -> list[Any]:
    """A value as the probe reads it."""
    if name == "DOUBLE":
        return [name, struct.unpack(">q", struct.pack(">d", value))[0]]
    if name == "FLOAT":
        return [name, struct.unpack(">i", struct.pack(">f", value))[0]]
    return [name, value]


def plain(name: str, value: Any) -> Any:
    """A value as the probe answers it."""
    if name == "DOUBLE":
        return "d" + str(0x7FF8000000000000 if value != value else node(name, value)[1])
    if name == "FLOAT":
        return "f" + str(0x7FC00000 if value != value else node(name, value)[1])
    return value


def contained(container: str, fields: list[Any]) -> object:
    return {"TUPLE": tuple(fields), "ROW": Row(*fields), "BASIC": fields[0]}[container]


def fields_of(container: str, record: Any) -> list[Any]:
    return [record] if container == "BASIC" else list(record)


@st.composite
def scripts(draw: st.DrawFn) -> dict[str, Any]:
    container = draw(st.sampled_from(["TUPLE", "TUPLE", "ROW", "BASIC"]))
    types = draw(st.lists(names, min_size=1, max_size=1 if container == "BASIC" else 4))
    position = draw(st.integers(0, len(types) - 1) | st.integers(-1, 4))
    by_name = draw(st.booleans())
    field: int | str = position if not by_name else "*" if container == "BASIC" else f"f{position}"
    columns = st.tuples(*[OF_TYPE[name] for name in types]).map(list)
    return {
        "container": container, "types": types, "field": field, "first": draw(st.booleans()),
        "how": draw(st.sampled_from([kind.name for kind in AggregationType])),
        "records": draw(st.lists(columns, min_size=1, max_size=8)),
    }  # fmt: skip


def ours(script: dict[str, Any]) -> list[Any]:
    container, types = script["container"], script["types"]
    arguments = [parse_type(name) for name in types]
    declared = {"TUPLE": Types.TUPLE(arguments), "ROW": Types.ROW(arguments), "BASIC": arguments[0]}[container]
    reduce = aggregator(AggregationType[script["how"]], script["field"], declared, first=script["first"])
    current, found = None, []
    for fields in script["records"]:
        record = contained(container, fields)
        current = record if current is None else reduce(current, record)
        found.append([plain(*pair) for pair in zip(types, fields_of(container, current), strict=True)])
    return found


def test_aggregations_equal_flinks_for_every_field_type(differential: Differential) -> None:
    @differential.settings(300)
    @given(scripts())
    def compare(script: dict[str, Any]) -> None:
        # Java's aggregators take no Row, PyFlink's do, by the same rules as tuples.
        asked = {
            **script,
            "container": "BASIC" if script["container"] == "BASIC" else "TUPLE",
            "records": [
                [node(*pair) for pair in zip(script["types"], fields, strict=True)] for fields in script["records"]
            ],
        }
        theirs = json.loads(differential.flink.java.flowsim.differential.Aggregators.run(json.dumps(asked)))
        with differential.comparing("Sum- and ComparableAggregator", commands=len(theirs)):
            if isinstance(theirs[-1], dict):
                with pytest.raises(BadInput):
                    ours(script)
            else:
                assert ours(script) == theirs

    compare()
