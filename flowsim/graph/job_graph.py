"""Operators grouped into chains. Flink: JobGraph, JobVertex, StreamingJobGraphGenerator (rules 1.1-1.13)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from flowsim.errors import BadInput
from flowsim.graph.alignment import Exchange, ForcedAlignment, forced_alignment
from flowsim.graph.operator_ids import identified_operators
from flowsim.graph.sink_committers import with_committers
from flowsim.graph.stream_graph import (
    DEFAULT_SLOT_SHARING_GROUP,
    ChainingStrategy,
    PartitionerSpec,
    StreamEdge,
    StreamGraph,
    StreamNode,
)
from flowsim.network.partitions.result_partition_type import ResultPartitionType
from flowsim.network.writers.partitioner import IN_TURN
from flowsim.state.key_group_range_assignment import compute_default_max_parallelism
from flowsim.state.redistribution.operator_id import IdentifiedOperator


class BufferTimeoutError(BadInput):
    """The error of a blocking output that has a buffer timeout (rule 5.44)."""

    def __init__(self, operator: str, timeout_ms: int) -> None:
        self.operator = operator
        self.reason = (
            "a blocking exchange is read only after it is finished, so it has no buffer timeout: expected -1 "
            f"(never) or none, got {timeout_ms} ms"
        )
        super().__init__(f"operator '{operator}': {self.reason}")


@dataclass(slots=True)
class ChainedOperator:
    """One operator of a chain. ``input_operator``: index of its upstream operator in the chain, -1 for the head."""

    node: StreamNode
    index: int
    input_operator: int
    input_tag: str | None
    chain_index: int
    """Position in the chain, 1 for the head: the mail priority of the operator (rule 1.11)."""
    operator_id: str
    """What its state in a checkpoint belongs to (rule 12.121)."""


@dataclass(slots=True)
class JobVertex:
    """A chain of operators that one task runs. Flink: JobVertex."""

    id: int
    operators: list[ChainedOperator]
    """Head to tail, in the order in which they finish: depth first, the last branch first, as in Flink (rule 4.12)."""
    parallelism: int
    max_parallelism: int

    @property
    def name(self) -> str:
        return " -> ".join(operator.node.name for operator in self.in_order_of_addition)

    @property
    def head(self) -> StreamNode:
        return self.operators[0].node

    @property
    def slot_sharing_group(self) -> str:
        """The group of all operators of the chain (rule 1.24)."""
        return self.head.slot_sharing_group

    @property
    def is_legacy_source(self) -> bool:
        """True if the head is a source function, which runs on its own thread (rules 1.10, 5.40)."""
        return self.head.is_legacy_source

    def consumers_of(self, operator: ChainedOperator) -> list[ChainedOperator]:
        """Returns an operator's consumers inside the chain, in the order in which they were added to the job."""
        return [other for other in self.in_order_of_addition if other.input_operator == operator.index]

    @property
    def in_order_of_addition(self) -> list[ChainedOperator]:
        """The operators in the order in which they were added to the job, for names and edges."""
        return sorted(self.operators, key=lambda operator: operator.node.id)


@dataclass(frozen=True, slots=True)
class JobEdge:
    """A non-chained edge: source subtasks have a record writer for it, target subtasks a gate. Flink: JobEdge."""

    id: int
    source: JobVertex
    source_operator: int
    target: JobVertex
    input_index: int
    partitioner: PartitionerSpec
    side_output: str | None
    buffer_timeout_ms: int
    exchange: ResultPartitionType
    max_traverse_size: int | None = None
    """The number of channels that an adaptive writer compares; None: the writers are not adaptive (rule 2.3)."""

    @property
    def partitioner_text(self) -> str:
        """The name of the partitioner, such as ``REBALANCE``, or ``REBALANCE adaptive(4)`` with adaptive writers."""
        adaptive = "" if self.max_traverse_size is None else f" adaptive({self.max_traverse_size})"
        return self.partitioner.name + adaptive

    def describe(self) -> Exchange:
        """Returns the exchange as its alignment depends on it."""
        sends_committables = self.source.operators[self.source_operator].node.description.kind == "committer"
        name = f"{self.source.head.name} -> {self.target.head.name}"
        return Exchange(self.id, name, self.partitioner.name, sends_committables)


@dataclass(slots=True)
class JobGraph:
    """Chains and the edges between them, in topological order. Flink: JobGraph."""

    graph: StreamGraph
    operators: Sequence[IdentifiedOperator] = ()
    """All operators, in the order in which they get their ids."""
    vertices: list[JobVertex] = field(default_factory=list)
    edges: list[JobEdge] = field(default_factory=list)
    _in_edges: dict[int, list[JobEdge]] = field(default_factory=dict)
    _out_edges: dict[int, list[JobEdge]] = field(default_factory=dict)
    """By the id of a vertex: every subtask needs its edges."""

    def add_edge(self, edge: JobEdge) -> None:
        """Adds an edge between two vertices of the job."""
        self.edges.append(edge)
        self._in_edges.setdefault(edge.target.id, []).append(edge)
        self._out_edges.setdefault(edge.source.id, []).append(edge)

    def in_edges(self, vertex: JobVertex) -> Sequence[JobEdge]:
        return self._in_edges.get(vertex.id, ())

    def forced_alignment(self, edge: JobEdge) -> ForcedAlignment | None:
        """Returns why an edge supports no unaligned checkpoints; None if it does (rule 12.19)."""
        return forced_alignment(edge.describe(), (each.describe() for each in self.in_edges(edge.target)))

    def slots(self) -> dict[str, int]:
        """Returns the number of slots that each slot sharing group needs: its highest parallelism (rule 1.24)."""
        slots: dict[str, int] = {}
        for vertex in self.vertices:
            slots[vertex.slot_sharing_group] = max(slots.get(vertex.slot_sharing_group, 0), vertex.parallelism)
        return slots

    @property
    def has_slot_sharing_groups(self) -> bool:
        """True if a vertex is in another group than the default one."""
        return any(vertex.slot_sharing_group != DEFAULT_SLOT_SHARING_GROUP for vertex in self.vertices)

    def out_edges(self, vertex: JobVertex) -> Sequence[JobEdge]:
        """Returns the output edges in the order of the chain's operators and so of the writers (rule 1.13)."""
        return self._out_edges.get(vertex.id, ())


def resolved_partitioner(graph: StreamGraph, edge: StreamEdge) -> PartitionerSpec:
    """Returns the edge's partitioner; if none is set, forward between equal parallelisms, else rebalance (rule 1.1)."""
    if edge.partitioner is not None:
        return edge.partitioner
    equal = graph.nodes[edge.source_id].parallelism == graph.nodes[edge.target_id].parallelism
    return PartitionerSpec("FORWARD" if equal else "REBALANCE")


def chained_edges(graph: StreamGraph) -> dict[int, StreamEdge]:
    """Returns the edges that connect two operators of one chain, by their target. Raises BadInput for an invalid graph."""
    inputs, outputs = _edges_by(graph, lambda edge: edge.target_id), _edges_by(graph, lambda edge: edge.source_id)
    return _chained_edges(graph, _topological_order(graph, inputs, outputs), inputs)


def _chained_edges(
    graph: StreamGraph, order: Sequence[int], inputs: Mapping[int, Sequence[StreamEdge]]
) -> dict[int, StreamEdge]:
    """Returns the edges that connect two operators of one chain, by their target; ``order``: sources first."""
    heads: dict[int, StreamNode] = {}
    chained: dict[int, StreamEdge] = {}
    for node_id in order:
        edges = inputs.get(node_id, ())
        if len(edges) == 1 and _is_chainable(graph, edges[0], heads[edges[0].source_id]):
            chained[node_id] = edges[0]
            heads[node_id] = heads[edges[0].source_id]
        else:
            heads[node_id] = graph.nodes[node_id]
    return chained


def _is_chainable(graph: StreamGraph, edge: StreamEdge, head: StreamNode) -> bool:
    """True if the only input edge of an operator can be in a chain, which begins with ``head`` (rules 1.5-1.10, 1.24)."""
    source, target = graph.nodes[edge.source_id], graph.nodes[edge.target_id]
    return (
        graph.settings.operator_chaining
        and resolved_partitioner(graph, edge).name == "FORWARD"
        # Only the edge's own mode counts, not the job's default (rule 1.7).
        and (edge.exchange is None or edge.exchange.is_pipelined)
        and source.slot_sharing_group == target.slot_sharing_group
        and source.chaining is not ChainingStrategy.NEVER
        and target.chaining is ChainingStrategy.ALWAYS
        and source.parallelism == target.parallelism
        and not (target.yields and head.is_legacy_source)
    )


def _edges_by(graph: StreamGraph, end: Callable[[StreamEdge], int]) -> dict[int, list[StreamEdge]]:
    """Returns the edges by one of their ends, in the order in which they were added."""
    edges_by: dict[int, list[StreamEdge]] = {}
    for edge in graph.edges:
        edges_by.setdefault(end(edge), []).append(edge)
    return edges_by


def create_job_graph(graph: StreamGraph) -> JobGraph:
    """Adds the committers of sinks, and chains operators; raises BadInput for an invalid graph."""
    graph = with_committers(graph)
    inputs, outputs = _edges_by(graph, lambda edge: edge.target_id), _edges_by(graph, lambda edge: edge.source_id)
    order = _topological_order(graph, inputs, outputs)
    chained_to = _chained_edges(graph, order, inputs)
    identified = identified_operators(graph, inputs, outputs, chained_to)
    job = JobGraph(graph, list(identified.values()))
    vertex_of: dict[int, tuple[JobVertex, ChainedOperator]] = {}
    for node_id in order:
        node = graph.nodes[node_id]
        edge = chained_to.get(node_id)
        if edge is None:
            operator = ChainedOperator(node, 0, -1, None, 1, identified[node_id].operator_id)
            vertex = JobVertex(len(job.vertices), [operator], node.parallelism, _max_parallelism(node))
            job.vertices.append(vertex)
        else:
            vertex, upstream_operator = vertex_of[edge.source_id]
            operator = ChainedOperator(
                node,
                len(vertex.operators),
                upstream_operator.index,
                edge.side_output,
                upstream_operator.chain_index + 1,
                identified[node_id].operator_id,
            )
            vertex.operators.append(operator)
        vertex_of[node_id] = (vertex, operator)
    for vertex in job.vertices:
        _put_in_order_of_life(vertex)
    for vertex in job.vertices:
        for operator in vertex.in_order_of_addition:
            for edge in outputs.get(operator.node.id, ()):
                if chained_to.get(edge.target_id) is not edge:
                    target = vertex_of[edge.target_id][0]
                    exchange = graph.settings.exchange if edge.exchange is None else edge.exchange
                    partitioner = resolved_partitioner(graph, edge)
                    job.add_edge(
                        JobEdge(
                            len(job.edges),
                            vertex,
                            operator.index,
                            target,
                            edge.input_index,
                            partitioner,
                            edge.side_output,
                            _buffer_timeout(graph, operator.node, exchange),
                            exchange,
                            _max_traverse_size(graph, partitioner, target),
                        )
                    )
    return job


def _max_traverse_size(graph: StreamGraph, partitioner: PartitionerSpec, target: JobVertex) -> int | None:
    """Returns the number of channels that the writers of an edge compare; None if they are not adaptive (rule 2.3)."""
    adaptive = graph.settings.adaptive_partitioner
    if adaptive is None or partitioner.name not in IN_TURN or target.parallelism == 1:
        return None
    return adaptive.max_traverse_size


def _buffer_timeout(graph: StreamGraph, node: StreamNode, exchange: ResultPartitionType) -> int:
    """Returns the buffer timeout of an edge of ``node`` in ms.

    Raises BadInput if ``exchange`` forbids a timeout that is set (rule 5.44).
    """
    own = node.buffer_timeout_ms
    if exchange.is_pipelined:
        return graph.settings.buffer_timeout_ms if own is None else own
    if own is not None and own != -1:
        raise BufferTimeoutError(node.name, own)
    return -1


def _put_in_order_of_life(vertex: JobVertex) -> None:
    """Sorts and numbers the operators in the order in which they finish."""
    feeds: dict[int, list[ChainedOperator]] = {}
    for operator in vertex.operators:
        feeds.setdefault(operator.input_operator, []).append(operator)
    order: list[ChainedOperator] = []
    waiting = feeds[-1]
    while waiting:
        operator = waiting.pop()
        fed = feeds.get(operator.index, [])
        operator.index = len(order)
        for other in fed:
            other.input_operator = operator.index
        order.append(operator)
        waiting.extend(fed)
    vertex.operators = order


def _max_parallelism(node: StreamNode) -> int:
    if node.max_parallelism is None:
        return compute_default_max_parallelism(node.parallelism)
    if node.max_parallelism < node.parallelism:
        raise BadInput(
            f"operator '{node.name}': max_parallelism {node.max_parallelism} is below its parallelism {node.parallelism}"
        )
    return node.max_parallelism


def _topological_order(
    graph: StreamGraph, inputs: Mapping[int, Sequence[StreamEdge]], outputs: Mapping[int, Sequence[StreamEdge]]
) -> list[int]:
    """Returns the nodes, sources first, otherwise in the order of addition; raises BadInput for a cycle."""
    waiting = {node_id: len(inputs.get(node_id, ())) for node_id in graph.nodes}
    for node_id, node in graph.nodes.items():
        if waiting[node_id] == 0 and not node.is_source:
            raise BadInput(f"operator '{node.name}' has no input")
    if not graph.nodes:
        raise BadInput("the job has no operators")
    order: list[int] = []
    ready = deque(node_id for node_id, count in waiting.items() if count == 0)
    while ready:
        node_id = ready.popleft()
        order.append(node_id)
        for edge in outputs.get(node_id, ()):
            waiting[edge.target_id] -= 1
            if waiting[edge.target_id] == 0:
                ready.append(edge.target_id)
    if len(order) < len(graph.nodes):
        names = ", ".join(graph.nodes[n].name for n, count in waiting.items() if count > 0)
        raise BadInput(f"the job has a cycle through: {names}")
    return order
