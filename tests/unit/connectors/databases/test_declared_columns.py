"""Columns that no table of PostgreSQL can have are refused without a server."""

from __future__ import annotations

import pytest

from flowsim.connectors.databases.postgres import NamedConnection, PostgresSink
from flowsim.errors import BadInput


@pytest.mark.parametrize("name", ["tableoid", "xmin", "cmin", "xmax", "cmax", "ctid"])
def test_system_columns_are_refused(name: str) -> None:
    with pytest.raises(BadInput, match=f"postgres sink 't': column '{name}' is a system column of PostgreSQL"):
        PostgresSink(NamedConnection("there"), "t", {"n": "long", name: "long"})


def test_columns_that_differ_in_case_are_accepted() -> None:
    sink = PostgresSink(NamedConnection("there"), "t", {"A": "long", "a": "long", "XMIN": "long"})
    assert [column.name for column in sink.columns] == ["A", "a", "XMIN"]
