"""The size of a job, and the refusal of one beyond the limits."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowsim.cluster.job_execution import RunOptions
from flowsim.cluster.recorded_run import execute_recorded
from flowsim.datastream import StreamExecutionEnvironment
from flowsim.errors import BadInput
from flowsim.facts.kinds import Level
from flowsim.graph.execution_graph import create_execution_graph
from flowsim.graph.job_graph import JobGraph, create_job_graph
from flowsim.graph.plan_size import plan_size
from flowsim.graph.stream_graph import StreamGraph
from flowsim.limits import DEFAULT_LIMITS, Limits
from flowsim.network.partitions.result_partition_type import ResultPartitionType


def graph(sources: int, targets: int, **settings: object) -> StreamGraph:
    """A source, ``sources`` subtasks, and all-to-all ``targets``."""
    env = StreamExecutionEnvironment.get_execution_environment().configure(None, **settings)
    first = env.from_collection([1]).rebalance().map(abs).set_parallelism(sources).name("first")
    first.rebalance().map(abs).set_parallelism(targets).name("second")
    return env.stream_graph()


def job(sources: int, targets: int, **settings: object) -> JobGraph:
    return create_job_graph(graph(sources, targets, **settings))


def test_plan_size_equals_size_of_execution_graph() -> None:
    size, execution = plan_size(job(3, 4)), create_execution_graph(job(3, 4))
    assert (size.subtasks, size.channels) == (len(execution.subtasks), execution.channel_count) == (8, 15)
    assert size.buffers == sum(pool.required + pool.exclusive for pool in execution.memory.pools)


def test_job_at_limit_is_built() -> None:
    create_execution_graph(job(3, 4), Limits(subtasks=8, channels=15))


def test_job_beyond_limit_is_refused_with_need_and_setting() -> None:
    needs = "the job needs 8 subtasks, 15 channels and 56 network buffers, and flowsim about 0.0 GiB of memory: expected at most"
    for limits, rest in (
        (
            Limits(subtasks=7),
            "7 subtasks; 4 of them run second: lower the parallelism (--limit subtasks=N raises the limit)",
        ),
        (
            Limits(channels=14),
            (
                "14 channels; 12 of the channels connect first and second: lower the parallelism (--limit channels=N raises the "
                "limit)"
            ),
        ),
        (
            Limits(network_buffers=55),
            (
                "55 network buffers; 12 of the channels connect first and second: lower the parallelism "
                "(--limit network_buffers=N raises the limit)"
            ),
        ),
    ):
        with pytest.raises(BadInput) as refused:
            create_execution_graph(job(3, 4), limits)
        assert str(refused.value) == f"{needs} {rest}"


def test_job_of_a_billion_channels_is_refused_at_once() -> None:
    with pytest.raises(BadInput, match=r"1,073,709,056 of the channels connect first and second"):
        create_execution_graph(job(32_768, 32_767), Limits(subtasks=1 << 20))


def test_job_of_a_million_channels_is_within_limits() -> None:
    assert plan_size(job(1000, 1000)).channels < DEFAULT_LIMITS.channels


def test_only_pools_that_share_too_little_memory_are_limited() -> None:
    limits = Limits(shared_pools=10)
    create_execution_graph(job(3, 4, task_managers="one"), limits)
    with pytest.raises(
        BadInput, match=r"task manager 'task manager' has 11 buffer pools .* at most 10; .* shared_pools=N"
    ):
        create_execution_graph(job(3, 4, task_managers="one", exchange=ResultPartitionType.BLOCKING), limits)


def test_job_beyond_limits_does_not_replace_recording(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    execute_recorded(graph(1, 1), RunOptions(), kept, Level.ELEMENTS)
    before = (kept / "manifest.json").read_bytes()
    with pytest.raises(BadInput, match="expected at most 7 subtasks"):
        execute_recorded(graph(3, 4), RunOptions(limits=Limits(subtasks=7)), kept, Level.ELEMENTS)
    assert (kept / "manifest.json").read_bytes() == before
