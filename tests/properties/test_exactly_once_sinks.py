"""Sinks with a committer after random crashes: a reader always sees a part of the rows, in the end every row once."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.operators.sink_job import ReplayedInput
from tests.unit.connectors.sinks.test_exactly_once_sinks import PLACES, CsvFiles, Memory, Place, Table

pytestmark = pytest.mark.property


@settings(max_examples=examples(35))
@given(
    kind=st.sampled_from([CsvFiles, Memory, Table]),
    lengths=st.lists(st.integers(0, 7), min_size=1, max_size=3),
    crashes=st.sets(st.integers(1, 90), max_size=8),
    aborted=st.sets(st.integers(1, 12), max_size=6),
)
def test_rows_are_visible_once_after_any_crashes(
    kind: type[Place], lengths: list[int], crashes: set[int], aborted: set[int]
) -> None:
    assert kind in PLACES
    values = [[(subtask * 100 + i, f"value {i}") for i in range(length)] for subtask, length in enumerate(lengths)]
    expected = sorted(value for of_subtask in values for value in of_subtask)
    with tempfile.TemporaryDirectory() as folder:
        place = kind(Path(folder) / "out")

        def look() -> None:
            rows = place.rows()
            assert len(rows) == len(set(rows))
            assert set(rows) <= set(expected)

        ReplayedInput(place.sink, values, aborted, look).run(crashes)
        assert (place.rows(), place.hidden()) == (expected, [])
