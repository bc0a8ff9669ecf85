"""A copy of a job whose ends are watched: what every sink takes, and what the last operators emit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from flowsim.connectors.collect import CollectSink
from flowsim.datastream import StreamExecutionEnvironment
from flowsim.graph.stream_graph import OperatorDescription, StreamEdge, StreamGraph, StreamNode
from flowsim.operators.sink import SinkOperator, SinkWriter
from flowsim.operators.stream_operator import OperatorContext, StreamOperator
from flowsim.testing.random_job import RandomJob

Job = StreamExecutionEnvironment | StreamGraph | RandomJob
"""What can be run: an environment with streams in it, the graph that it makes of them, or the description of a job."""


@dataclass(frozen=True, slots=True)
class ObservedGraph:
    """The copy, and what its ends took by the name of the operator, in the order in which they were added."""

    graph: StreamGraph
    ends: dict[str, CollectSink]


def observe(job: Job) -> ObservedGraph:
    """The job itself stays as it is and can be run again.

    An operator whose main output nobody reads gets a collecting sink behind each of its subtasks.
    """
    environment = job.build() if isinstance(job, RandomJob) else job
    original = environment.stream_graph() if isinstance(environment, StreamExecutionEnvironment) else environment
    graph = StreamGraph(original.name, replace(original.settings), dict(original.nodes), list(original.edges))
    read = {edge.source_id for edge in original.edges if edge.side_output is None}
    ends: dict[str, CollectSink] = {}
    for node in original.nodes.values():
        if node.description.kind == "sink":
            end = ends[_free_name(node.name, ends)] = CollectSink()
            graph.nodes[node.id] = replace(node, operator_factory=_also_into(end, node.operator_factory))
        elif node.id not in read:
            end = ends[_free_name(node.name, ends)] = CollectSink()
            _collect_behind(graph, node, end)
    return ObservedGraph(graph, ends)


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
        operator_factory=lambda: SinkOperator(end.create_writer()),
        description=OperatorDescription("sink", {"sink": end.kind}),
        parallelism=node.parallelism,
        cost_ns=0,
    )
    graph.add_node(collecting)
    graph.add_edge(StreamEdge(node.id, collecting.id))


def _also_into(end: CollectSink, make: Callable[[], StreamOperator]) -> Callable[[], StreamOperator]:
    def observed() -> StreamOperator:
        operator = make()
        if not isinstance(operator, SinkOperator):
            return operator
        return SinkOperator(TeeWriter(operator.writer, end.create_writer()))

    return observed


class TeeWriter:
    """Gives every record to the sink's own writer, and to another that watches."""

    def __init__(self, own: SinkWriter, watching: SinkWriter) -> None:
        self._own = own
        self._watching = watching

    def open(self, ctx: OperatorContext) -> None:
        self._own.open(ctx)
        self._watching.open(ctx)

    def write(self, value: object, timestamp: int | None) -> None:
        self._own.write(value, timestamp)
        self._watching.write(value, timestamp)

    def flush(self) -> None:
        self._own.flush()

    def close(self) -> None:
        self._own.close()
