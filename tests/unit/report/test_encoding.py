"""Columns of integers as bytes and back."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from flowsim.report.encoding import BOUND, Groups, bounded, decoded, encoded, from_varints, varints

NUMBERS = st.lists(st.integers(-BOUND, BOUND) | st.integers(-300, 300), max_size=60)


@given(NUMBERS)
def test_varints_decode_to_the_same_numbers(numbers: list[int]) -> None:
    assert from_varints(varints(np.array(numbers, dtype=np.int64)), len(numbers)).tolist() == numbers


def test_equal_numbers_at_the_end_are_written_once() -> None:
    assert varints(np.array([3, 1, 1, 1])) == varints(np.array([3, 1])) == b"\x06\x02"


@given(NUMBERS, st.data())
def test_column_decodes_to_the_same_numbers_in_every_encoding(numbers: list[int], data: st.DataObject) -> None:
    values = np.array(numbers, dtype=np.int64)
    groups = {
        "channel": np.array(
            data.draw(st.lists(st.integers(0, 3), min_size=len(numbers), max_size=len(numbers))), dtype=np.int64
        )
    }

    name, content = encoded(values, {name: Groups(group) for name, group in groups.items()})

    assert decoded(name, content, len(numbers), groups).tolist() == numbers


def test_counters_of_groups_are_stored_as_one() -> None:
    channel = np.array([0, 1, 0, 0, 1] * 2000)
    position = np.zeros_like(channel)
    for number in (0, 1):
        position[channel == number] = np.arange((channel == number).sum()) + 1

    name, content = encoded(position, {"channel": Groups(channel)})

    assert (name, content) == ("channel", b"\x02")


def test_sentinels_are_bounded_and_their_differences_exact_in_javascript() -> None:
    limits = np.iinfo(np.int64)
    given_values = np.array([limits.min, limits.min + 1, -7, 7, limits.max - 1, limits.max])

    found = bounded(given_values).tolist()

    assert found == [-BOUND, 1 - BOUND, -7, 7, BOUND - 1, BOUND]
    assert 2 * (found[-1] - found[0]) < 2**53
