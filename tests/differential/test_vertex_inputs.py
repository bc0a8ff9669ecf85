"""The subpartitions that each subtask reads, in order, beside VertexInputInfoComputationUtils (rules 1.14-1.17)."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from flowsim.graph.edge_expansion import EdgeExpansion
from flowsim.graph.execution_graph import create_execution_graph
from flowsim.graph.job_graph import create_job_graph
from flowsim.graph.job_settings import JobSettings
from flowsim.graph.stream_graph import OperatorDescription, PartitionerSpec, StreamEdge, StreamGraph, StreamNode
from flowsim.operators.functions.basic import MapOperator
from tests.support.flink.machine import Differential

parallelisms = st.one_of(st.integers(1, 12), st.integers(1, 130))


def expansion(sources: int, targets: int, partitioner: str) -> EdgeExpansion:
    graph = StreamGraph(settings=JobSettings(operator_chaining=False))
    for number, parallelism in ((1, sources), (2, targets)):
        description = OperatorDescription("map")
        graph.add_node(
            StreamNode(
                number, f"op{number}", lambda: MapOperator(lambda v: v), description, parallelism, is_source=number == 1
            )
        )
    graph.add_edge(StreamEdge(1, 2, PartitionerSpec(partitioner)))
    return create_execution_graph(create_job_graph(graph)).expansions[0]


def inputs(edge: EdgeExpansion, targets: int) -> list[list[list[int]]]:
    """Per target the partitions and subpartitions of its channels, in the order of the channels."""
    return [
        [list(edge.input_at(target, index)) for index in range(edge.input_count(target))] for target in range(targets)
    ]


def test_pointwise_edges_equal_flinks(differential: Differential) -> None:
    real = differential.flink.java.flowsim.differential.Connections

    @differential.settings(120)
    @given(parallelisms, parallelisms)
    def compare(sources: int, targets: int) -> None:
        edge = expansion(sources, targets, "RESCALE")
        counts = ",".join(str(edge.subpartitions(source)) for source in range(sources))
        with differential.comparing("VertexInputInfoComputationUtils", commands=edge.channel_count):
            assert inputs(edge, targets) == json.loads(real.pointwise(sources, targets, counts))

    compare()


def test_all_to_all_edges_equal_flinks(differential: Differential) -> None:
    real = differential.flink.java.flowsim.differential.Connections

    @differential.settings(20)
    @given(st.integers(1, 30), st.integers(1, 30))
    def compare(sources: int, targets: int) -> None:
        edge = expansion(sources, targets, "REBALANCE")
        with differential.comparing("VertexInputInfoComputationUtils", commands=edge.channel_count):
            assert inputs(edge, targets) == json.loads(real.allToAll(sources, targets))

    compare()
