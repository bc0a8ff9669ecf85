"""Every partitioner selects the channels that the real one selected (section 2)."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest

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
from tests.support.flink.golden import cases


class FirstChannel(Random):
    """Makes rebalance start where the recorded one happened to start."""

    def __init__(self, first: int) -> None:
        super().__init__(0)
        self.first = first

    def randrange(self, start: int, stop: int | None = None, step: int = 1) -> int:
        return (self.first - 1) % start


def partitioner(case: dict[str, Any]) -> StreamPartitioner:
    channels = case["channels"]
    match case["kind"]:
        case "rebalance":
            return RebalancePartitioner(channels, FirstChannel(case["first"]))
        case "rescale":
            return RescalePartitioner(channels)
        case "global":
            return GlobalPartitioner(channels)
        case "forward":
            return ForwardPartitioner(channels)
        case "broadcast":
            return BroadcastPartitioner(channels)
        case "shuffle":
            return ShufflePartitioner(channels, Random(case["seed"]))
        case "keygroup":
            return KeyGroupStreamPartitioner(
                channels, lambda value: str(value).split(":")[0], "STRING", case["max_parallelism"]
            )
        case "custom":
            return CustomPartitionerWrapper(channels, lambda key, n: len(str(key)) % n, lambda value: value)
    raise AssertionError(f"unknown partitioner {case['kind']}")


def test_selected_channels_equal_flinks() -> None:
    """What shuffle chose is random there and here: of it only the properties are compared.

    The cases also name the mappers that hand data in flight to other subtasks when a job is rescaled, which needs recovery.
    """
    examined: Counter[str] = Counter()
    for case in cases("component/partitioners"):
        chosen = partitioner(case)
        assert (chosen.name, chosen.is_broadcast, chosen.name in POINTWISE) == (
            case["to_string"], case["is_broadcast"], case["is_pointwise"],
        ), case["id"]  # fmt: skip
        if case["kind"] == "broadcast":
            with pytest.raises(TypeError, match="does not choose"):
                chosen.select_channel("v")
            assert case["error"] is not None
        elif case["kind"] == "shuffle":
            assert {chosen.select_channel("v") for _ in range(200)} == set(range(case["channels"])), case["id"]
        else:
            values = case["values"] if isinstance(case["values"], list) else ["v"] * case["values"]
            assert [chosen.select_channel(value) for value in values] == case["channels_selected"], case["id"]
            examined[case["kind"]] += len(values)
    assert sum(examined.values()) == 6_780
    assert examined.keys() == {"rebalance", "rescale", "global", "forward", "keygroup", "custom"}
