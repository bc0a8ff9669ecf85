"""NumberSequenceSource: the splits of Flink, and all numbers once at every parallelism."""

from __future__ import annotations

import pytest

from flowsim.connectors.number_sequence import NumberSequenceSource, number_splits
from flowsim.datastream import StreamExecutionEnvironment
from flowsim.datastream.common import WatermarkStrategy
from flowsim.errors import BadInput


@pytest.mark.parametrize("length", [1, 2, 3, 7, 8, 9, 100])
@pytest.mark.parametrize("splits", [1, 2, 3, 8])
def test_splits_cover_the_sequence_and_differ_by_at_most_one(length: int, splits: int) -> None:
    found = number_splits(-3, length - 4, splits)
    assert [number for _, first, last in found for number in range(first, last + 1)] == list(range(-3, length - 3))
    lengths = [last - first + 1 for _, first, last in found]
    assert (len(found), lengths) == (min(length, splits), sorted(lengths, reverse=True))
    assert lengths[0] - lengths[-1] <= 1


@pytest.mark.parametrize("parallelism", [1, 2, 3])
def test_every_number_is_read_once(parallelism: int) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    source = NumberSequenceSource(5, 12)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").set_parallelism(parallelism)
    found = list(numbers.execute_and_collect())
    assert sorted(found) == list(range(5, 13))
    assert parallelism > 1 or found == sorted(found)


def test_bounds_are_longs_in_order() -> None:
    with pytest.raises(BadInput, match="'from' must be <= 'to', got 2 and 1"):
        NumberSequenceSource(2, 1)
    with pytest.raises(BadInput, match="expected a long, got 9223372036854775808"):
        NumberSequenceSource(0, 2**63)
