"""Every partitioner beside the real one, record by record (section 2)."""

from __future__ import annotations

import json
from collections import Counter
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowsim.network.writers.partitioner import (
    POINTWISE,
    BroadcastPartitioner,
    CustomPartitionerWrapper,
    ForwardPartitioner,
    GlobalPartitioner,
    KeyGroupStreamPartitioner,
    RebalancePartitioner,
    RescalePartitioner,
    ShufflePartitioner,
    StreamPartitioner,
)
from tests.support.flink.keys import Key, keys
from tests.support.flink.machine import Differential

VALUES = [["INT", number] for number in range(120)]


class Starting(Random):
    """Chance that lets rebalance start where the real one happened to start."""

    def __init__(self, at: int) -> None:
        super().__init__(0)
        self.at = at

    def randrange(self, start: int, stop: int | None = None, step: int = 1) -> int:
        return self.at


def agrees(differential: Differential, real: Any, ours: StreamPartitioner, values: list[Any], codes: list[Any]) -> None:
    theirs = json.loads(real.select(json.dumps(codes)))
    with differential.comparing(type(ours).__name__, commands=len(values)):
        about = f"{ours.name} {str(ours.is_broadcast).lower()} {str(ours.name in POINTWISE).lower()}"
        assert about == real.about()
        assert [ours.select_channel(value) for value in values] == theirs


@pytest.mark.parametrize("kind", ["FORWARD", "REBALANCE", "RESCALE", "GLOBAL"])
def test_sequence_of_channels_equals_flinks(differential: Differential, kind: str) -> None:
    @differential.settings(15)
    @given(st.integers(1, 12), st.integers(1, 120))
    def compare(channels: int, records: int) -> None:
        real = differential.flink.java.flowsim.differential.Partitioners(kind, channels, 128)
        ours: StreamPartitioner
        match kind:
            case "REBALANCE":
                ours = RebalancePartitioner(channels, Starting(real.start()))
            case "RESCALE":
                ours = RescalePartitioner(channels)
            case "GLOBAL":
                ours = GlobalPartitioner(channels)
            case _:
                ours = ForwardPartitioner(channels)
        agrees(differential, real, ours, list(range(records)), VALUES[:records])

    compare()


def test_channel_of_every_key_equals_flinks(differential: Differential) -> None:
    @differential.settings(40)
    @given(st.data(), st.integers(1, 300))
    def compare(data: st.DataObject, max_parallelism: int) -> None:
        channels = data.draw(st.integers(1, max_parallelism))
        real = differential.flink.java.flowsim.differential.Partitioners("HASH", channels, max_parallelism)
        # Every key of a stream has the one declared type.
        some: list[Key] = data.draw(st.lists(keys, min_size=8, max_size=24))
        by_type: dict[str, list[Key]] = {}
        for key in some:
            by_type.setdefault(key[1].name, []).append(key)
        for declared, same in by_type.items():
            ours = KeyGroupStreamPartitioner(channels, lambda value: value, declared, max_parallelism)
            twice = [*same, *same]
            agrees(differential, real, ours, [key for key, _, _ in twice], [code for _, _, code in twice])

    compare()


def test_broadcast_selects_no_channel(differential: Differential) -> None:
    real = differential.flink.java.flowsim.differential.Partitioners("BROADCAST", 3, 128)
    ours = BroadcastPartitioner(3)
    with differential.comparing("BroadcastPartitioner", commands=1):
        assert real.about() == "BROADCAST true false"
        assert json.loads(real.select('[["INT", 1]]')) == ["UnsupportedOperationException"]
        with pytest.raises(TypeError, match="does not choose"):
            ours.select_channel(1)


def test_shuffle_reaches_every_channel(differential: Differential) -> None:
    """What it chooses is random on both sides."""
    for channels in range(1, 9):
        real = differential.flink.java.flowsim.differential.Partitioners("SHUFFLE", channels, 128)
        ours = ShufflePartitioner(channels, Random(5))
        theirs = Counter(channel for _ in range(5) for channel in json.loads(real.select(json.dumps(VALUES))))
        with differential.comparing("ShufflePartitioner", commands=600):
            assert real.about() == "SHUFFLE false false"
            assert set(theirs) == {ours.select_channel(1) for _ in range(600)} == set(range(channels))


def test_custom_partitioner_fails_where_flink_fails(differential: Differential) -> None:
    """Rule 2.2: the user's errors, and channels that do not exist, which fail there when the record is emitted."""

    def partition(key: Any, channels: int) -> int:
        if key > 99:
            raise ArithmeticError("refused by the partitioner")
        return int(key)

    def key_of(value: Any) -> Any:
        if value == "no key":
            raise LookupError("refused by the key selector")
        return value

    channels_and_more = st.one_of(st.integers(-3, 12), st.just(100), st.just("no key"))

    @differential.settings(30)
    @given(st.integers(1, 9), st.lists(channels_and_more, min_size=8, max_size=30))
    def compare(channels: int, values: list[Any]) -> None:
        real = differential.flink.java.flowsim.differential.Partitioners("CUSTOM", channels, 128)
        codes = [["STRING", value] if isinstance(value, str) else ["INT", value] for value in values]
        theirs = json.loads(real.select(json.dumps(codes)))
        ours = CustomPartitionerWrapper(channels, partition, key_of)
        with differential.comparing("CustomPartitionerWrapper", commands=len(values)):
            for value, answer in zip(values, theirs, strict=True):
                if answer == "RuntimeException":
                    with pytest.raises(LookupError):
                        ours.select_channel(value)
                elif answer == "IllegalStateException":
                    with pytest.raises(ArithmeticError):
                        ours.select_channel(value)
                elif 0 <= answer < channels:
                    assert ours.select_channel(value) == answer
                else:
                    with pytest.raises(IndexError, match=f"channel {answer} of {channels}"):
                        ours.select_channel(value)

    compare()
