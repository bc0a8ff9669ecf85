"""The local buffer pools of a job, and the network memory of its task managers (rules 5.39, 5.41, 6.1).

Flink: NettyShuffleUtils, InputGateSpecUtils.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from flowsim.errors import BadInput
from flowsim.facts.kinds import PoolKind
from flowsim.graph.job_graph import JobEdge
from flowsim.graph.job_settings import JobSettings
from flowsim.graph.placement import Placement
from flowsim.network.buffers.local_buffer_pool import UNLIMITED
from flowsim.network.partitions.result_partition_type import ResultPartitionType
from flowsim.quantities import count_text

if TYPE_CHECKING:
    from flowsim.graph.edge_expansion import EdgeExpansion, Subtask

UNBOUNDED_SHARE: Final = 2048
"""Number of segments counted for a pool without an upper bound if ``network_buffers`` is not set: 64 MiB of 32 KiB."""

MAX_REQUIRED_BUFFERS_OF_BATCH: Final = 1000
"""Maximum number of required buffers for a gate that reads blocking partitions; gates of pipelined partitions have no
maximum."""

_SHOWN_POOLS: Final = 8


@dataclass(frozen=True, slots=True)
class GateBuffersSpec:
    """The buffers of one gate: ``exclusive`` buffers per remote channel, and floating buffers that all channels share.

    Flink: GateBuffersSpec.
    """

    exclusive: int
    floating_required: int
    floating_maximum: int


def create_gate_buffers_spec(
    channels: int, exclusive_per_channel: int, floating_per_gate: int, partition_type: ResultPartitionType
) -> GateBuffersSpec:
    """Computes the buffers of a gate (rule 6.1).

    In flowsim a gate has at least one floating buffer. Flink: InputGateSpecUtils.createGateBuffersSpec.
    """
    total = channels * exclusive_per_channel + max(floating_per_gate, 1)
    required = channels * exclusive_per_channel + 1
    if not partition_type.is_pipelined:
        required = min(required, MAX_REQUIRED_BUFFERS_OF_BATCH)
    exclusive = min(exclusive_per_channel, (required - 1) // channels)
    return GateBuffersSpec(exclusive, required - exclusive * channels, total - exclusive * channels)


@dataclass(frozen=True, slots=True)
class PlannedPool:
    """One local buffer pool, as table ``pools`` describes it.

    ``credit``: number of exclusive buffers of one remote channel.
    """

    id: int
    task_manager: int
    subtask: Subtask
    edge: JobEdge
    kind: PoolKind
    required: int
    maximum: int
    overdraft: int
    per_channel: int
    exclusive: int
    credit: int

    def __str__(self) -> str:
        guaranteed = self.required + self.exclusive
        if self.kind is PoolKind.OUTPUT:
            return f"output of {self.subtask.name} to {self.edge.target.name} {guaranteed}"
        return f"input of {self.subtask.name} from {self.edge.source.name} {guaranteed}"


@dataclass(frozen=True, slots=True)
class NetworkMemory:
    """All pools in the order of their ids, and the number of segments of each task manager."""

    pools: Sequence[PlannedPool] = ()
    segments: Sequence[int] = ()
    outputs: dict[tuple[int, int], PlannedPool] = field(default_factory=dict)
    """Output pools by edge id and subtask id."""
    inputs: dict[tuple[int, int], PlannedPool] = field(default_factory=dict)
    is_scarce: Sequence[bool] = ()
    """True if the pools of a task manager may request more segments than the task manager has."""


def plan_network_memory(
    settings: JobSettings,
    placement: Placement,
    expansions: Sequence[EdgeExpansion],
    subtasks: Sequence[Subtask],
) -> NetworkMemory:
    """Plans the pools of a job.

    Raises BadInput if a task manager cannot guarantee the required segments (rule 5.39).
    """
    pools: list[PlannedPool] = []
    memory = NetworkMemory(pools)
    locals_of = _LocalChannels(placement, subtasks)
    outputs: dict[int, list[EdgeExpansion]] = {}
    inputs: dict[int, list[EdgeExpansion]] = {}
    for expansion in expansions:
        outputs.setdefault(expansion.edge.source.id, []).append(expansion)
        inputs.setdefault(expansion.edge.target.id, []).append(expansion)
    for subtask in subtasks:
        owner = placement.task_manager_of[subtask.id]
        for expansion in outputs.get(subtask.vertex.id, ()):
            pool = _output(settings, len(pools), owner, subtask, expansion)
            memory.outputs[expansion.edge.id, subtask.id] = pool
            pools.append(pool)
        for expansion in inputs.get(subtask.vertex.id, ()):
            pool = _input(settings, len(pools), owner, subtask, expansion, locals_of)
            memory.inputs[expansion.edge.id, subtask.id] = pool
            pools.append(pool)
    segments, is_scarce = _segments(settings, placement, pools)
    return NetworkMemory(pools, segments, memory.outputs, memory.inputs, is_scarce)


def _output(settings: JobSettings, number: int, owner: int, subtask: Subtask, expansion: EdgeExpansion) -> PlannedPool:
    """Plans an output pool (rules 5.40, 5.41); a legacy source has no overdraft."""
    count, exchange = expansion.subpartitions(subtask.index), expansion.edge.exchange
    has_overdraft = exchange.has_overdraft and not subtask.vertex.is_legacy_source
    bound = count * settings.exclusive_buffers_per_channel + settings.floating_buffers_per_gate
    return PlannedPool(
        number,
        owner,
        subtask,
        expansion.edge,
        PoolKind.OUTPUT,
        count + 1,
        max(bound, count + 1) if exchange.is_bounded else UNLIMITED,
        settings.overdraft_buffers if has_overdraft else 0,
        settings.max_buffers_per_channel,
        0,
        0,
    )


def _input(
    settings: JobSettings,
    number: int,
    owner: int,
    subtask: Subtask,
    expansion: EdgeExpansion,
    local_channels: _LocalChannels,
) -> PlannedPool:
    """Plans an input pool (rule 6.1); only remote channels have exclusive buffers."""
    count = expansion.input_count(subtask.index)
    spec = create_gate_buffers_spec(
        count, settings.exclusive_buffers_per_channel, settings.floating_buffers_per_gate, expansion.edge.exchange
    )
    remote = count - local_channels.count(expansion, subtask)
    return PlannedPool(
        number,
        owner,
        subtask,
        expansion.edge,
        PoolKind.INPUT,
        spec.floating_required,
        spec.floating_maximum,
        0,
        UNLIMITED,
        remote * spec.exclusive,
        spec.exclusive,
    )


class _LocalChannels:
    """Counts the local channels of a gate, without a loop over channels if the gate reads all sources."""

    def __init__(self, placement: Placement, subtasks: Sequence[Subtask]) -> None:
        self._task_manager_of = placement.task_manager_of
        self._first: dict[int, int] = {}
        self._members: dict[tuple[int, int], int] = {}
        for subtask in subtasks:
            self._first.setdefault(subtask.vertex.id, subtask.id)
            place = subtask.vertex.id, placement.task_manager_of[subtask.id]
            self._members[place] = self._members.get(place, 0) + 1

    def count(self, expansion: EdgeExpansion, target: Subtask) -> int:
        owner, source = self._task_manager_of[target.id], expansion.edge.source.id
        if not expansion.is_pointwise:
            return self._members.get((source, owner), 0)
        inputs = (expansion.input_at(target.index, index)[0] for index in range(expansion.input_count(target.index)))
        return sum(self._task_manager_of[self._first[source] + index] == owner for index in inputs)


def _segments(
    settings: JobSettings, placement: Placement, pools: Sequence[PlannedPool]
) -> tuple[list[int], list[bool]]:
    required, possible = [0] * len(placement.names), [0] * len(placement.names)
    unbounded = [False] * len(placement.names)
    for pool in pools:
        unbounded[pool.task_manager] |= pool.maximum == UNLIMITED
        required[pool.task_manager] += pool.required + pool.exclusive
        maximum = min(pool.maximum, max(pool.required, UNBOUNDED_SHARE)) if pool.maximum == UNLIMITED else pool.maximum
        possible[pool.task_manager] += maximum + pool.overdraft + pool.exclusive
    total = settings.network_buffers
    if total is None:
        return possible, unbounded
    for number, least in enumerate(required):
        if least > total:
            raise BadInput(
                _too_few(placement.names[number], total, least, [p for p in pools if p.task_manager == number])
            )
    return [total] * len(placement.names), [unbounded[n] or total < most for n, most in enumerate(possible)]


def _too_few(name: str, total: int, least: int, pools: Sequence[PlannedPool]) -> str:
    shown = ", ".join(str(pool) for pool in pools[:_SHOWN_POOLS])
    more = f" and {count_text(len(pools) - _SHOWN_POOLS, 'more pool')}" if len(pools) > _SHOWN_POOLS else ""
    return (
        f"Insufficient number of network buffers: task manager {name!r:.300} has {total}, and its pools require {least} "
        f"({shown}{more}); set network_buffers to {least} or more"
    )


def pool_rows(memory: NetworkMemory) -> list[tuple[int, ...]]:
    """Returns the rows of table ``pools``."""
    return [
        (
            p.id,
            p.task_manager,
            p.subtask.id,
            p.edge.id,
            p.kind,
            p.required,
            p.maximum,
            p.overdraft,
            p.per_channel,
            p.exclusive,
        )
        for p in memory.pools
    ]


def task_manager_rows(memory: NetworkMemory, placement: Placement, segment_bytes: int) -> list[tuple[int | str, ...]]:
    """Returns the rows of table ``task_managers``."""
    return [
        (number, name, segments, segment_bytes)
        for number, (name, segments) in enumerate(zip(placement.names, memory.segments, strict=True))
    ]
