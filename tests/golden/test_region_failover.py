"""Pipelined regions, and what restarts, equal the real ones (rules 12.27, 12.28)."""

from __future__ import annotations

from typing import Any

from flowsim.checkpoints.failover.pipelined_region_compute_util import compute_pipelined_regions
from flowsim.checkpoints.failover.restart_pipelined_region_failover_strategy import (
    RestartPipelinedRegionFailoverStrategy,
)
from flowsim.checkpoints.failover.scheduling_topology import ResultPartition
from tests.support.checkpoints.execution_graph import ScriptedExecutionGraph
from tests.support.flink.golden import cases


class Job:
    def __init__(self, case: dict[str, Any]) -> None:
        graph = ScriptedExecutionGraph(case["parallelism"], case["edges"])
        self.names = [task.name for task in graph.tasks]
        self.states = case["states"]
        self.topology, self.partitions = graph.topology()
        self.lost: list[ResultPartition] = []
        self.strategy = RestartPipelinedRegionFailoverStrategy(self.topology, self, self)

    def is_available(self, partition: ResultPartition) -> bool:
        return not any(partition is lost for lost in self.lost)

    def is_created(self, subtask: int) -> bool:
        return bool(self.states[self.names[subtask]] == "CREATED")

    def regions(self) -> list[list[str]]:
        regions = compute_pipelined_regions(self.topology)
        return sorted(sorted(self.names[subtask] for subtask in region) for region in regions)

    def restarted(self, query: dict[str, Any]) -> list[str]:
        self.lost = [self.partitions[tuple(key)] for key in query["lost"]]
        named = query["partition_error"]
        partition = None if named is None else self.partitions[tuple(named)]
        tasks = self.strategy.get_tasks_needing_restart(self.names.index(query["fail"]), partition)
        return sorted(self.names[task] for task in tasks)


def test_regions_and_restarted_tasks_equal_flinks() -> None:
    queries = 0
    for case in cases("component/region_failover"):
        job = Job(case)
        assert job.regions() == sorted(case["regions"]), case["id"]
        for query in case["queries"]:
            assert job.restarted(query) == query["restart"], (case["id"], query)
            queries += 1
    assert queries > 1_000
