"""Creates the partitioners of record writers from the graph. Flink: StreamTask.createRecordWriter."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Final

from flowsim.graph.stream_graph import PartitionerSpec
from flowsim.network.writers.partitioner import (
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

_CLASSES: Final[Mapping[str, type[StreamPartitioner]]] = {
    each.name: each
    for each in (
        ForwardPartitioner,
        RebalancePartitioner,
        RescalePartitioner,
        ShufflePartitioner,
        BroadcastPartitioner,
        GlobalPartitioner,
        KeyGroupStreamPartitioner,
        CustomPartitionerWrapper,
    )
}


def partitioner_class(spec: PartitionerSpec) -> type[StreamPartitioner]:
    """Returns the class of a partitioner, which knows how its stored records are redistributed (rule 12.97)."""
    return _CLASSES[spec.name]


def create_partitioner(spec: PartitionerSpec, channels: int, max_parallelism: int, chance: Random) -> StreamPartitioner:
    """Returns a separate partitioner for one writer (I2.d); ``max_parallelism`` is that of the target (rule 1.23)."""
    match spec.name:
        case "FORWARD":
            # Rule 1.4: over several subpartitions a forward edge becomes round robin; over one it is forward.
            return ForwardPartitioner(channels) if channels == 1 else RebalancePartitioner(channels, chance)
        case "REBALANCE":
            return RebalancePartitioner(channels, chance)
        case "RESCALE":
            return RescalePartitioner(channels)
        case "SHUFFLE":
            return ShufflePartitioner(channels, chance)
        case "BROADCAST":
            return BroadcastPartitioner(channels)
        case "GLOBAL":
            return GlobalPartitioner(channels)
        case "HASH" if spec.key_selector is not None:
            return KeyGroupStreamPartitioner(channels, spec.key_selector, spec.key_type, max_parallelism)
        case "CUSTOM" if spec.key_selector is not None and spec.partition is not None:
            return CustomPartitionerWrapper(channels, spec.partition, spec.key_selector)
    raise ValueError(f"unknown partitioner {spec.name}, or its key selector is missing")
