"""Subtasks that run, fail and restart together (rule 12.27).

Flink: PipelinedRegionComputeUtil, SchedulingPipelinedRegionComputeUtil, LogicalPipelinedRegionComputeUtil,
StronglyConnectedComponentsComputeUtils.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from flowsim.checkpoints.failover.scheduling_topology import SchedulingTopology


def compute_pipelined_regions(topology: SchedulingTopology) -> list[list[int]]:
    """Returns the regions, and the subtasks of each, in the order of the subtasks.

    Subtasks that pipelined partitions connect are one region. Regions on a cycle of the other partitions are merged,
    if the whole cycle lies in one logical region: the same construction on job vertices.
    """
    subtasks = topology.job_vertex_of
    raw_region_of = _DisjointSets(len(subtasks))
    logical_region_of = _DisjointSets(1 + max(subtasks, default=0))
    for partition in topology.partitions:
        if partition.must_be_pipelined_consumed:
            for consumer in partition.consumers:
                raw_region_of.join(partition.producer, consumer)
                logical_region_of.join(subtasks[partition.producer], subtasks[consumer])
    out_edges: dict[int, set[int]] = {raw_region_of.find(subtask): set() for subtask in range(len(subtasks))}
    for partition in topology.partitions:
        producer = raw_region_of.find(partition.producer)
        for consumer in partition.consumers:
            if logical_region_of.find(subtasks[partition.producer]) == logical_region_of.find(subtasks[consumer]):
                out_edges[producer].add(raw_region_of.find(consumer))
    # Regions on a cycle would each wait for the other one's result before they start.
    merged: dict[int, int] = {}
    for component in strongly_connected_components({region: sorted(out_edges[region]) for region in out_edges}):
        for region in component:
            merged[region] = min(component)
    regions: dict[int, list[int]] = {}
    for subtask in range(len(subtasks)):
        regions.setdefault(merged[raw_region_of.find(subtask)], []).append(subtask)
    return list(regions.values())


def strongly_connected_components(out_edges: dict[int, Sequence[int]]) -> list[list[int]]:
    """Returns the sets of nodes that reach each other, by Tarjan's algorithm without recursion.

    >>> strongly_connected_components({0: [1], 1: [0, 2], 2: []})
    [[2], [0, 1]]
    """
    index: dict[int, int] = {}
    lowest: dict[int, int] = {}
    path: list[int] = []
    on_path: set[int] = set()
    components: list[list[int]] = []
    for root in out_edges:
        if root in index:
            continue
        visits: list[tuple[int, Iterable[int]]] = [(root, iter(out_edges[root]))]
        while visits:
            node, successors = visits[-1]
            if node not in index:
                index[node] = lowest[node] = len(index)
                path.append(node)
                on_path.add(node)
            for successor in successors:
                if successor not in index:
                    visits.append((successor, iter(out_edges[successor])))
                    break
                if successor in on_path:
                    lowest[node] = min(lowest[node], index[successor])
            else:
                visits.pop()
                if visits:
                    lowest[visits[-1][0]] = min(lowest[visits[-1][0]], lowest[node])
                if lowest[node] == index[node]:
                    component = path[path.index(node) :]
                    del path[path.index(node) :]
                    on_path.difference_update(component)
                    components.append(component)
    return components


class _DisjointSets:
    """Sets of numbers; the smallest member represents its set."""

    def __init__(self, size: int) -> None:
        self._parent = list(range(size))

    def find(self, member: int) -> int:
        while self._parent[member] != member:
            self._parent[member] = self._parent[self._parent[member]]
            member = self._parent[member]
        return member

    def join(self, one: int, other: int) -> None:
        first, second = sorted((self.find(one), self.find(other)))
        self._parent[second] = first
