"""The digest of a job that was built in Python."""

from __future__ import annotations

import json
from dataclasses import asdict
from hashlib import sha256

from flowsim.graph.job_graph import resolved_partitioner
from flowsim.graph.stream_graph import StreamGraph


def job_digest(graph: StreamGraph) -> str:
    """Returns equal digests for graphs with the same operators, edges and settings; it knows no functions of the user."""
    nodes = [
        (
            node.id,
            node.name,
            node.description.kind,
            dict(node.description.params),
            node.parallelism,
            node.max_parallelism,
        )
        for node in graph.nodes.values()
    ]
    edges = [
        (edge.source_id, edge.target_id, resolved_partitioner(graph, edge).name, edge.side_output, edge.input_index)
        for edge in graph.edges
    ]
    content = json.dumps(
        [nodes, edges, asdict(graph.settings)], sort_keys=True, default=lambda value: type(value).__name__
    )
    return sha256(content.encode()).hexdigest()
