"""The pools of a job and the memory they share (rules 5.39, 5.41, 6.1, 6.18)."""

from __future__ import annotations

import pytest

from flowsim.errors import BadInput
from flowsim.facts.kinds import PoolKind
from flowsim.graph.execution_graph import ExecutionGraph, create_execution_graph
from flowsim.graph.job_graph import create_job_graph
from flowsim.graph.network_memory import UNBOUNDED_SHARE
from flowsim.network.buffers.local_buffer_pool import UNLIMITED
from flowsim.network.partitions.result_partition_type import ResultPartitionType
from tests.support.jobs.small_jobs import SmallJob


def execution(by: str = "SHUFFLE", **settings: object) -> ExecutionGraph:
    """Two sources, three sinks."""
    job = SmallJob(**settings)
    job.sink(job.values(lambda _: (), parallelism=2), by=by, parallelism=3)
    return create_execution_graph(create_job_graph(job.graph))


def pools(found: ExecutionGraph, kind: PoolKind) -> list[tuple[int, int, int, int, int]]:
    """(task manager, required, maximum, overdraft, exclusive) of each pool of a kind."""
    return [
        (p.task_manager, p.required, p.maximum, p.overdraft, p.exclusive) for p in found.memory.pools if p.kind is kind
    ]


def test_every_partition_and_gate_has_a_pool_of_its_task_manager() -> None:
    found = execution()
    assert pools(found, PoolKind.OUTPUT) == [(n, 4, 14, 20, 0) for n in (0, 1)]
    assert pools(found, PoolKind.INPUT) == [(n, 1, 8, 0, 4) for n in (2, 3, 4)]
    assert found.memory.segments == [34, 34, 12, 12, 12]
    assert [pool.id for pool in found.memory.pools] == list(range(5))


def test_only_remote_channels_have_exclusive_buffers() -> None:
    """The first sink stands beside the first source, the second beside both."""
    mixed = {"a": ["source/0", "sink/0"]}
    assert [exclusive for *_, exclusive in pools(execution(task_managers=mixed), PoolKind.INPUT)] == [2, 4, 4]
    beside = {"a": ["source", "sink/1"]}
    assert [exclusive for *_, exclusive in pools(execution(task_managers=beside), PoolKind.INPUT)] == [4, 0, 4]
    assert [exclusive for *_, exclusive in pools(execution(task_managers="one"), PoolKind.INPUT)] == [0, 0, 0]


def test_exclusive_buffers_of_pointwise_edge_are_counted_per_channel() -> None:
    """Rule 1.16: source 0 feeds the sinks 0 and 1, source 1 feeds sink 2."""
    placed = {"a": ["source/1", "sink/0"], "b": ["source/0", "sink/1"]}
    found = execution("RESCALE", task_managers=placed)
    assert [exclusive for *_, exclusive in pools(found, PoolKind.INPUT)] == [2, 0, 2]


def test_unbounded_pool_may_take_memory_of_task_manager() -> None:
    found = execution(exchange=ResultPartitionType.PIPELINED)
    assert pools(found, PoolKind.OUTPUT) == [(n, 4, UNLIMITED, 20, 0) for n in (0, 1)]
    assert found.memory.segments[0] == UNBOUNDED_SHARE + 20


def test_one_segment_below_minimum_is_refused_by_name() -> None:
    settings = {"task_managers": "one"}
    assert execution(network_buffers=2 * 4 + 3, **settings).memory.segments == [11]
    with pytest.raises(BadInput) as refused:
        execution(network_buffers=10, **settings)
    assert str(refused.value) == (
        "Insufficient number of network buffers: task manager 'task manager' has 10, and its pools require 11 "
        "(output of source (1/2) to sink 4, output of source (2/2) to sink 4, input of sink (1/3) from source 1, "
        "input of sink (2/3) from source 1, input of sink (3/3) from source 1); set network_buffers to 11 or more"
    )
