"""A job's graph as JSON. Flink: JSONGenerator."""

from __future__ import annotations

import json

from flowsim.graph.stream_graph import StreamEdge, StreamGraph


def execution_plan(graph: StreamGraph) -> str:
    """Nodes with their predecessors and ship strategies, in the form of Flink's plan."""
    nodes = []
    for node in graph.nodes.values():
        entry: dict[str, object] = {
            "id": node.id,
            "type": node.name,
            "pact": _pact(node.is_source, node.description.kind),
            "contents": node.name,
            "parallelism": node.parallelism,
        }
        incoming = [edge for edge in graph.edges if edge.target_id == node.id]
        if incoming:
            entry["predecessors"] = [
                {"id": edge.source_id, "ship_strategy": _ship_strategy(graph, edge), "side": "second"}
                for edge in incoming
            ]
        nodes.append(entry)
    return json.dumps({"nodes": nodes}, indent=2)


def _pact(is_source: bool, kind: str) -> str:
    if is_source:
        return "Data Source"
    return "Data Sink" if kind == "sink" else "Operator"


def _ship_strategy(graph: StreamGraph, edge: StreamEdge) -> str:
    """Rule 1.1 where no partitioner was chosen."""
    if edge.partitioner is not None:
        return edge.partitioner.name
    equal = graph.nodes[edge.source_id].parallelism == graph.nodes[edge.target_id].parallelism
    return "FORWARD" if equal else "REBALANCE"
