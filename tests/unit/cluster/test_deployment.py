"""The cost of deploying a job."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any, Literal

import pytest

from flowsim.cluster.deployment import Deployment
from flowsim.cluster.metrics_sampler import MetricsSampler
from flowsim.datastream import StreamExecutionEnvironment
from flowsim.graph.execution_graph import create_execution_graph
from flowsim.graph.job_graph import create_job_graph
from flowsim.graph.stream_graph import StreamGraph
from flowsim.network.partitions.result_partition_type import ResultPartitionType
from flowsim.sim.rng import RandomStreams
from flowsim.sim.virtual_time_loop import VirtualTimeLoop


def job(subtasks: int, task_managers: Literal["each", "one"], exchange: ResultPartitionType) -> StreamGraph:
    """Three tasks per index, without all-to-all edges between them; rescale from a quarter of the subtasks."""
    env = StreamExecutionEnvironment.get_execution_environment().configure(None, task_managers=task_managers)
    env.settings.exchange = exchange
    some = env.from_collection([1]).rescale().map(abs).set_parallelism(subtasks // 4).disable_chaining()
    some.rescale().map(abs).set_parallelism(subtasks).map(abs).disable_chaining().set_parallelism(subtasks)
    return env.stream_graph()


def lines_executed(graph: StreamGraph) -> int:
    """The lines of flowsim that the deployment executes; those of a loop count in every round."""
    lines = 0

    def count(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal lines
        lines += event == "line"
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        execution = create_execution_graph(create_job_graph(graph))
        loop = VirtualTimeLoop()
        deployment = Deployment(execution, loop, RandomStreams(0), None)
        MetricsSampler(deployment, loop)
    finally:
        sys.settrace(before)
    deployment.network.close()
    return lines


@pytest.mark.parametrize(
    ("task_managers", "exchange"),
    [
        ("each", ResultPartitionType.PIPELINED_BOUNDED),
        ("one", ResultPartitionType.PIPELINED_BOUNDED),
        ("each", ResultPartitionType.BLOCKING),
    ],
)
def test_work_of_deployment_is_linear_in_subtasks(
    task_managers: Literal["each", "one"], exchange: ResultPartitionType
) -> None:
    few, many = (lines_executed(job(subtasks, task_managers, exchange)) for subtasks in (40, 160))
    assert many < 4.4 * few
