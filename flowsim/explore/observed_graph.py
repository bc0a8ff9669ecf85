"""A copy of a job whose results are kept in memory as well."""

from __future__ import annotations

from dataclasses import dataclass, replace

from flowsim.connectors.memory import CollectSink
from flowsim.datastream import StreamExecutionEnvironment
from flowsim.datastream.building.operator_factories import sink_operator, two_phase_commit
from flowsim.explore.job_digest import job_digest
from flowsim.explore.observed_sinks import also_into
from flowsim.explore.row_keys import KeyedCollectSink, row_keys
from flowsim.graph.stream_graph import OperatorDescription, StreamEdge, StreamGraph, StreamNode


@dataclass(frozen=True, slots=True)
class ObservedGraph:
    """A copy of the graph; the output of its ends by operator name, in the order in which the ends were added."""

    graph: StreamGraph
    ends: dict[str, CollectSink]
    """A ``KeyedCollectSink`` where the keys of the rows are known."""
    subtasks: dict[str, int]
    """The number of subtasks of each end."""

    def clear(self) -> None:
        """Removes the output of earlier runs: in a run that fails early, not every subtask of an end opens."""
        for name, end in self.ends.items():
            end.clear(self.subtasks[name])

    @property
    def sources(self) -> tuple[object, ...]:
        """The sources of the job."""
        return tuple(node.source for node in self.graph.nodes.values() if node.source is not None)


def observe(job: StreamExecutionEnvironment | StreamGraph) -> ObservedGraph:
    """Copies a graph and collects its output; the job itself is unchanged and can run again.

    An operator whose main output has no reader gets a collecting sink after each of its subtasks.
    """
    original = job.stream_graph() if isinstance(job, StreamExecutionEnvironment) else job
    graph = StreamGraph(original.name, replace(original.settings), dict(original.nodes), list(original.edges))
    read = {edge.source_id for edge in original.edges if edge.side_output is None}
    ends: dict[str, CollectSink] = {}
    subtasks: dict[str, int] = {}
    for node in original.nodes.values():
        is_sink = node.description.kind == "sink"
        if not is_sink and node.id in read:
            continue
        name = _free_name(node.name, ends)
        end = ends[name] = _collecting(graph, node)
        subtasks[name] = node.parallelism
        if is_sink:
            graph.nodes[node.id] = also_into(end, node)
        else:
            _collect_behind(graph, node, end)
    return ObservedGraph(graph, ends, subtasks)


def observed_digest(graph: StreamGraph) -> str:
    """Returns the digest that the tokens of a job have that was built in Python."""
    return job_digest(observe(graph).graph)


def _collecting(graph: StreamGraph, node: StreamNode) -> CollectSink:
    keys = row_keys(graph, node)
    return CollectSink() if keys is None else KeyedCollectSink(keys)


def _free_name(name: str, taken: dict[str, CollectSink]) -> str:
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name} {number}"
    return free


def _collect_behind(graph: StreamGraph, node: StreamNode, end: CollectSink) -> None:
    collecting = StreamNode(
        id=max(graph.nodes) + 1,
        name=f"Collect: {node.name}",
        operator_factory=lambda: sink_operator(end)(node.name),
        description=OperatorDescription("sink", {"sink": end.kind}),
        parallelism=node.parallelism,
        cost_ns=0,
        two_phase_commit=two_phase_commit(end, graph.settings),
    )
    graph.add_node(collecting)
    graph.add_edge(StreamEdge(node.id, collecting.id))
