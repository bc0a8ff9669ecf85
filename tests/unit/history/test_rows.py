"""Rows of a table: an index of the columns finds the same rows as a comparison of each row."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from flowsim.history.rows import Rows
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP

VALUES = st.sampled_from([NO_TIMESTAMP, -1, 0, 3, 1 << 40, MAX_WATERMARK])
CASES = st.lists(st.tuples(st.integers(0, 2), VALUES), min_size=1, max_size=30)


@given(CASES, VALUES, st.data())
def test_indexed_rows_equal_those_compared_one_by_one(
    cases: list[tuple[int, int]], at: int, data: st.DataObject
) -> None:
    kinds, values = (np.array(column, dtype=np.int64) for column in zip(*cases, strict=True))
    rows = Rows({"seq": np.arange(len(cases)) * 2, "kind": kinds, "at": values})
    begin, end = sorted(data.draw(st.tuples(*[st.integers(0, len(cases))] * 2)))
    part, kind = rows.cut(begin, end), data.draw(st.integers(-1, 3))
    expected = [number * 2 for number in range(begin, end) if kinds[number] == kind and values[number] == at]

    # The first ones compare, the later ones look up the index.
    for _ in range(12):
        found = part.equal(kind=kind, at=at)
        assert found["seq"].tolist() == [row["seq"] for row in found] == expected
    assert (found.first() is None) is not bool(expected)
    assert [row["seq"] for row in found.where(found["at"] == at)] == expected


def test_rows_before_and_after_a_fact_exclude_it() -> None:
    rows = Rows({"seq": np.array([3, 5, 8])})

    assert rows.before(5)["seq"].tolist() == rows.where(rows["seq"] < 5).before(9)["seq"].tolist() == [3]
    assert rows.after(5)["seq"].tolist() == [8]
    assert rows.in_order(np.array([2, 0])).row(-1) == {"seq": 3}
