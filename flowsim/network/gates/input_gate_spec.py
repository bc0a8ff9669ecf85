"""How many buffers an input gate gets. Flink: InputGateSpecUtils, GateBuffersSpec (rule 6.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from flowsim.network.partitions.result_partition_type import ResultPartitionType

MAX_REQUIRED_BUFFERS_OF_BATCH: Final = 1000
"""What a gate that reads blocking partitions may require; one that reads pipelined ones may require any number."""


@dataclass(frozen=True, slots=True)
class GateBuffersSpec:
    """Buffers of one gate: ``exclusive`` for each remote channel, floating ones for all of them. Flink: GateBuffersSpec."""

    exclusive: int
    floating_required: int
    floating_maximum: int


def create_gate_buffers_spec(
    channels: int, exclusive_per_channel: int, floating_per_gate: int, partition_type: ResultPartitionType
) -> GateBuffersSpec:
    """Rule 6.1; a gate has at least one floating buffer here. Flink: InputGateSpecUtils.createGateBuffersSpec."""
    total = channels * exclusive_per_channel + max(floating_per_gate, 1)
    required = channels * exclusive_per_channel + 1
    if not partition_type.is_pipelined:
        required = min(required, MAX_REQUIRED_BUFFERS_OF_BATCH)
    exclusive = min(exclusive_per_channel, (required - 1) // channels)
    return GateBuffersSpec(exclusive, required - exclusive * channels, total - exclusive * channels)
