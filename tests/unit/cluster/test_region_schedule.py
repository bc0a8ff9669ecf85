"""Which tasks start together, and which wait for the end of others (rules 5.43, 12.27)."""

from __future__ import annotations

import pytest

from flowsim.cluster.region_schedule import RegionSchedule
from flowsim.errors import BadInput
from flowsim.graph.execution_graph import ExecutionGraph, create_execution_graph
from flowsim.graph.job_graph import create_job_graph
from flowsim.graph.stream_graph import PartitionerSpec, StreamEdge
from flowsim.network.partitions.result_partition_type import ResultPartitionType
from tests.support.jobs.small_jobs import SmallJob

BLOCKING, PIPELINED = ResultPartitionType.BLOCKING, ResultPartitionType.PIPELINED


class Graph:
    """Operators of any parallelism and edges of any mode, none of them chained."""

    def __init__(self, *parallelisms: int) -> None:
        self.job = SmallJob(operator_chaining=False)
        self.ids = [self.job.values(lambda _: (), parallelism=p) for p in parallelisms]
        for number in self.ids:
            node = self.job.graph.nodes[number]
            node.name = f"op{number}"

    def edge(self, source: int, target: int, exchange: ResultPartitionType, by: str = "REBALANCE") -> Graph:
        edge = StreamEdge(self.ids[source], self.ids[target], PartitionerSpec(by), exchange=exchange)
        self.job.graph.nodes[self.ids[target]].is_source = False
        self.job.graph.add_edge(edge)
        return self

    def execution(self) -> ExecutionGraph:
        return create_execution_graph(create_job_graph(self.job.graph))

    def regions(self) -> list[tuple[list[int], list[int]]]:
        return [(list(region.subtasks), sorted(region.waits_for)) for region in self.execution().regions]


def test_pipelined_job_is_one_region() -> None:
    assert Graph(2, 2).edge(0, 1, PIPELINED).regions() == [([0, 1, 2, 3], [])]


def test_readers_of_blocking_edge_wait_for_all_writers() -> None:
    graph = Graph(2, 3).edge(0, 1, BLOCKING)
    assert graph.regions() == [([0], []), ([1], []), ([2], [0, 1]), ([3], [0, 1]), ([4], [0, 1])]


def test_pointwise_readers_wait_only_for_own_writers() -> None:
    assert Graph(2, 2).edge(0, 1, BLOCKING, "FORWARD").regions() == [([0], []), ([1], []), ([2], [0]), ([3], [1])]


def test_pipelined_pointwise_edges_make_one_region_per_slice() -> None:
    """Rule 12.27: one region per slice."""
    graph = Graph(2, 2, 1).edge(0, 1, PIPELINED, "FORWARD").edge(1, 2, BLOCKING)
    assert graph.regions() == [([0, 2], []), ([1, 3], []), ([4], [2, 3])]


def test_blocking_edge_parallel_to_pipelined_path_is_refused() -> None:
    graph = Graph(1, 1, 1).edge(0, 1, BLOCKING).edge(0, 2, PIPELINED).edge(2, 1, PIPELINED)
    with pytest.raises(BadInput, match="the blocking exchange from op1 to op2 can never be read"):
        graph.execution()


def test_blocking_edges_before_each_reader_are_accepted() -> None:
    graph = Graph(1, 1, 1).edge(0, 1, BLOCKING).edge(0, 2, PIPELINED).edge(2, 1, BLOCKING)
    assert graph.regions() == [([0, 1], []), ([2], [0, 1])]


def test_regions_in_a_cycle_are_refused() -> None:
    """op1 and op3 run together; op2 waits for op1, and op3 for op2."""
    graph = Graph(1, 1, 1).edge(0, 1, BLOCKING).edge(1, 2, BLOCKING).edge(0, 2, PIPELINED)
    with pytest.raises(BadInput, match="can never be read"):
        graph.execution()


def test_region_starts_after_its_last_writer_finished() -> None:
    schedule = RegionSchedule(Graph(2, 1, 1).edge(0, 1, BLOCKING).edge(1, 2, PIPELINED).execution().regions)
    assert schedule.start() == [0, 1]
    assert schedule.waits_for(3) == [0, 1]
    assert schedule.on_finished(1) == []
    assert schedule.waits_for(2) == [0]
    assert schedule.on_finished(1) == []
    assert schedule.on_finished(0) == [2, 3]
    assert schedule.on_finished(2) == []


def test_reader_waits_again_for_finished_writer_that_restarts() -> None:
    """Rule 12.27: two writers of one region; one has finished when the other fails."""
    graph = Graph(1, 2, 1).edge(0, 1, PIPELINED).edge(1, 2, BLOCKING)
    schedule = RegionSchedule(graph.execution().regions)
    assert schedule.start() == [0, 1, 2]
    assert schedule.on_finished(1) == []
    assert schedule.restart([0, 1, 2], lambda subtask: False) == [0, 1, 2]
    assert schedule.on_finished(2) == []
    assert schedule.waits_for(3) == [1]
    assert schedule.on_finished(1) == [3]
