"""Gives each operator of a graph the id that its state belongs to (rule 12.121). Flink: StreamGraphHasherV2."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence

from flowsim.errors import BadInput
from flowsim.graph.stream_graph import StreamEdge, StreamGraph, StreamNode
from flowsim.state.redistribution.operator_id import IdentifiedOperator, generated_id, id_of_uid


def identified_operators(
    graph: StreamGraph,
    inputs: Mapping[int, Sequence[StreamEdge]],
    outputs: Mapping[int, Sequence[StreamEdge]],
    chained: Mapping[int, StreamEdge],
) -> dict[int, IdentifiedOperator]:
    """Returns the operators by node, in the order in which they get their ids: breadth first, from the sources.

    ``inputs`` and ``outputs``: the edges of each node. ``chained``: the edge that chains a node to its input. Raises
    BadInput if two operators have the same uid.
    """
    found: dict[int, IdentifiedOperator] = {}
    waiting = deque(sorted(node.id for node in graph.nodes.values() if node.is_source))
    visited = set(waiting)
    while waiting:
        node = graph.nodes[waiting.popleft()]
        of_node = inputs.get(node.id, ())
        if node.uid is None and any(edge.source_id not in found for edge in of_node):
            # The last of its inputs adds it again.
            visited.remove(node.id)
            continue
        consumers = outputs.get(node.id, ())
        to_it = [graph.nodes[edge.target_id].name for edge in consumers if chained.get(edge.target_id) is edge]
        sources = [found[edge.source_id].operator_id for edge in of_node if edge.source_id in found]
        operator_id = generated_id(len(found), len(to_it), sources) if node.uid is None else _id_of_uid(node, found)
        found[node.id] = IdentifiedOperator(
            operator_id, node.name, node.parallelism, node.uid, tuple(to_it), tuple(sources)
        )
        for edge in consumers:
            if edge.target_id not in visited:
                visited.add(edge.target_id)
                waiting.append(edge.target_id)
    return found


def _id_of_uid(node: StreamNode, found: Mapping[int, IdentifiedOperator]) -> str:
    assert node.uid is not None
    operator_id = id_of_uid(node.uid)
    for other in found.values():
        if other.operator_id == operator_id:
            raise BadInput(f"operator {node.name!r}: uid {node.uid!r} is already used by operator {other.name!r}")
    return operator_id
